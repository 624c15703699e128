//go:build unix

package queue

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/prove-model/prove-model/internal/must"
)

// lock reserves a folder for this process, by a lock on a file in it, until release is called or the process ends.
func lock(path string) (release func(), err error) {
	defer must.Catch(&err)
	f := must.Get(os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600))
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another server uses the folder %s", filepath.Dir(path))
	}
	return func() { f.Close() }, nil
}
