package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onHugePages makes the next allocations, of about so many bytes, lie on huge pages if the system has them. The first use of a page of
// 4 KB takes a microsecond or two, and a verification uses thousands of pages. The garbage collector cannot be told to use huge pages.
// But the system can be advised to use them for a slice, and the collector reuses the memory of the slice when it has collected it.
func onHugePages(bytes int) {
	adviseHuge(make([]byte, bytes))
	runtime.GC()
}

func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) } // without huge pages it works too
