package mapped

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Scratch maps n bytes of a new file without a name in a folder: memory whose pages may
// leave that of the process (Trim). They are zero, and may be changed. The room for all
// of them is taken at once, so that later writes do not fail.
func Scratch(folder string, n int) (*File, error) {
	f, err := unnamed(folder)
	if err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	defer f.Close()
	err = unix.Fallocate(int(f.Fd()), 0, 0, int64(n))
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = fill(f, n)
	}
	if err != nil {
		return nil, fmt.Errorf("scratch file of %d bytes in %s: %w", n, folder, err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping a scratch file of %d bytes: %w", n, err)
	}
	return mappedFile(data, func() error { return unix.Munmap(data) }), nil
}

// unnamed opens a file that nobody else sees.
func unnamed(folder string) (*os.File, error) {
	if fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600); err == nil {
		return os.NewFile(uintptr(fd), folder), nil
	}
	f, err := os.CreateTemp(folder, ".scratch-*") // not all file systems have unnamed files
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// fill writes n zeros.
func fill(f *os.File, n int) error {
	zeros := make([]byte, 1<<20)
	for n > 0 {
		k, err := f.Write(zeros[:min(n, len(zeros))])
		if err != nil {
			return err
		}
		n -= k
	}
	return nil
}
