package atomicfile

import (
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/prove-model/prove-model/internal/must"
)

// createUnnamed opens a new file in dir that has no name and disappears when it is
// closed. It returns nil if the file system does not support such files, or if there is
// no /proc, which link needs. The Name of the result is name.
func createUnnamed(dir, name string, mode fs.FileMode) *os.File {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return nil
	}
	if _, err := os.Stat(descriptor(fd)); err != nil {
		unix.Close(fd)
		return nil
	}
	return os.NewFile(uintptr(fd), name)
}

// link gives a file without a name a name, which no file may have yet.
func link(f *os.File, name string) (err error) {
	defer must.Catch(&err)
	c := must.Get(f.SyscallConn())
	var failed error
	must.OK(c.Control(func(fd uintptr) {
		failed = unix.Linkat(unix.AT_FDCWD, descriptor(int(fd)), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	}))
	if failed != nil {
		return &os.PathError{Op: "link", Path: name, Err: failed}
	}
	return nil
}

// descriptor returns a path through which an open file can be reached.
func descriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
