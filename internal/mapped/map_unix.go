//go:build unix

package mapped

import (
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/prove-model/prove-model/internal/must"
)

// mapThreshold is the size below which a file is simply read.
const mapThreshold = 1 << 20

// mapFile maps the n bytes of f read-only, or reads them if there are few.
func mapFile(f *os.File, n int) (_ *File, err error) {
	defer must.Catch(&err)
	if n < mapThreshold {
		data, err := io.ReadAll(io.LimitReader(f, int64(n)))
		return &File{data: data}, err
	}
	data := must.GetAs(unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ, unix.MAP_PRIVATE))("mapping %s", f.Name())
	return mappedFile(data, func() error { return unix.Munmap(data) }), nil
}

// advise gives the system advice about the pages of part: all pages that it overlaps if
// they will be needed, but only pages that lie wholly in it if they are not needed.
func (f *File) advise(part []byte, a advice) {
	if f.unmap == nil || len(part) == 0 {
		return
	}
	page := os.Getpagesize()
	start := uintptr(unsafe.Pointer(unsafe.SliceData(f.data)))
	from := int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - start)
	to := from + len(part)
	kind := unix.MADV_WILLNEED
	if a == willNeed {
		from, to = from/page*page, min((to+page-1)/page*page, len(f.data))
	} else {
		from, to = (from+page-1)/page*page, to/page*page
		kind = unix.MADV_DONTNEED
	}
	if from < to {
		_ = unix.Madvise(f.data[from:to], kind) // an error does no harm, as this is only advice
	}
}
