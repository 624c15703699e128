package arena

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of the pages asked for, which a mapping begins at a multiple of.
const hugePage = 2 << 20

// mapMemory returns size bytes of anonymous memory on huge pages, if the system has
// them, or of the collector if it gives none. Pages that are not touched take nothing.
func mapMemory(size int) (b []byte, unmap func()) {
	all, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return make([]byte, size), func() {}
	}
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(all))) % hugePage)
	b = all[skip : skip+size : skip+size]
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // small pages do as well
	return b, func() {
		if err := unix.Munmap(all); err != nil {
			panic("arena: giving memory back: " + err.Error())
		}
	}
}
