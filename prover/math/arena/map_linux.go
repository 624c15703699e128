package arena

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of the pages that the system is asked for. Mappings begin at multiples of it.
const hugePage = 2 << 20

// regionSize is the number of bytes of addresses that an arena reserves, which take no memory: 2^36, 64 GB, with addresses
// of 64 bits. With 32 bits it is 2^16, too few for a region.
const regionSize = 1 << (16 + 20*(^uint(0)>>63))

// reserve returns reserved addresses, which use makes memory. It returns nil if the system gives none.
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

// use makes reserved addresses memory, on huge pages if the system has them. It reports whether that worked.
func use(b []byte) bool {
	if unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE) != nil {
		return false
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	return true
}

// empty gives the pages of b back to the system. When they are used again they are zero.
func empty(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }

// unmapAll unmaps b, which must be a whole mapping.
func unmapAll(b []byte) {
	if err := unix.Munmap(b); err != nil {
		panic("arena: giving memory back: " + err.Error())
	}
}

// mapMemory returns size bytes of anonymous memory, on huge pages if the system has them. If the system gives no
// memory, it is the garbage collector's. Pages that are not touched take no memory.
func mapMemory(size int) (b []byte, unmap func()) {
	all, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return make([]byte, size), func() {}
	}
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(all))) % hugePage)
	b = all[skip : skip+size : skip+size]
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // an error does not matter: the memory is then on small pages
	return b, func() { unmapAll(all) }
}
