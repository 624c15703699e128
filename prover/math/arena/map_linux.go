package arena

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of the pages asked for, which a mapping begins at a multiple of.
const hugePage = 2 << 20

// regionSize is how many addresses an arena reserves, which take nothing: 64 GB where
// they have 64 bits, and none to speak of elsewhere.
const regionSize = 1 << (16 + 20*(^uint(0)>>63))

// reserve returns addresses for memory; nil if the system gives none.
func reserve() (b []byte, unmap func()) {
	if regionSize < mapUnit {
		return nil, nil
	}
	all, err := unix.Mmap(-1, 0, regionSize, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, nil
	}
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(all))) % hugePage)
	return all[skip:], func() { unmapAll(all) }
}

// use makes reserved addresses memory, on huge pages as mapMemory.
func use(b []byte) bool {
	if unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE) != nil {
		return false
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	return true
}

// empty gives the pages of memory back to the system; those that are used again are zero.
func empty(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }

func unmapAll(b []byte) {
	if err := unix.Munmap(b); err != nil {
		panic("arena: giving memory back: " + err.Error())
	}
}

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
	return b, func() { unmapAll(all) }
}
