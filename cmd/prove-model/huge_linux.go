package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onHugePages has what is allocated next, about so many bytes, lie on huge pages if the system has them: a page of 4 KB that is touched
// for the first time takes a microsecond or two, and a verification touches thousands. The collector's memory cannot be asked for on
// such pages, but a list in it can be advised, and what the list took is used again when it has been collected.
func onHugePages(bytes int) {
	adviseHuge(make([]byte, bytes))
	runtime.GC()
}

func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) } // small pages do as well
