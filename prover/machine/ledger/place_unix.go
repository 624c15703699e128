//go:build linux || darwin

package ledger

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock waits until nobody else has the file locked, and locks it until it is closed.
func lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}

// placeOf returns the place of an open file, and errPlace if the system does not tell it. The host name is part of the machine's
// identity.
func placeOf(f *os.File) (place, error) {
	info, err := f.Stat()
	if err != nil {
		return place{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	machine, boot := identity()
	if !ok || boot == "" {
		return place{}, errPlace
	}
	name, err := os.Hostname()
	if err != nil {
		return place{}, err
	}
	return place{digest(machine + "\n" + name), digest(boot), fmt.Sprintf("%d.%d", st.Dev, st.Ino)}, nil
}
