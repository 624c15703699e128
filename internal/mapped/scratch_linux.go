package mapped

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/prove-model/prove-model/internal/must"
)

// Scratch maps n bytes of a new file without a name in a folder: memory whose pages may
// leave the process (see Trim). The bytes are zero at first, and may be changed. Disk
// space for all of them is allocated at once, so that later writes do not fail.
func Scratch(folder string, n int) (_ *File, err error) {
	defer must.Catch(&err)
	f := must.GetAs(unnamed(folder))("scratch file")
	defer f.Close()
	err = unix.Fallocate(int(f.Fd()), 0, 0, int64(n))
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = fill(f, n)
	}
	must.OKAs(err, "scratch file of %d bytes in %s", n, folder)
	data := must.GetAs(unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))("mapping a scratch file of %d bytes", n)
	return mappedFile(data, func() error { return unix.Munmap(data) }), nil
}

// unnamed opens a new file that has no name.
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
func fill(f *os.File, n int) (err error) {
	defer must.Catch(&err)
	zeros := make([]byte, 1<<20)
	for n > 0 {
		k := must.Get(f.Write(zeros[:min(n, len(zeros))]))
		n -= k
	}
	return nil
}
