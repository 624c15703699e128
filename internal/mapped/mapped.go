// Package mapped reads whole files. It maps them into memory if the system can, so that
// pages that nobody reads are never loaded.
package mapped

import (
	"fmt"
	"os"
	"sync"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/regular"
)

// maxFile bounds the size of a file; larger models consist of several files.
const maxFile = 1 << 40

// File is the contents of a file. It must not be truncated while it is mapped.
type File struct {
	data  []byte
	unmap func() error // nil when data is on the heap
	info  os.FileInfo
}

// Is says whether this is the file that info describes, under whatever name.
func (f *File) Is(info os.FileInfo) bool { return os.SameFile(f.info, info) }

// Bytes returns the contents, which may be read until Close. They must not be changed,
// except those of Scratch.
func (f *File) Bytes() []byte { return f.data }

// Open reads or maps the file at path.
func Open(path string) (_ *File, err error) {
	defer must.Catch(&err)
	f := must.Get(regular.Open(path))
	defer f.Close()
	return Read(f)
}

// Read reads or maps an open regular file whole. f may be closed afterwards.
func Read(f *os.File) (_ *File, err error) {
	defer must.Catch(&err)
	st := must.Get(f.Stat())
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", f.Name())
	}
	n := st.Size()
	if n > maxFile || int64(int(n)) != n {
		return nil, fmt.Errorf("%s: %d bytes are too many", f.Name(), n)
	}
	m := must.Get(mapFile(f, int(n)))
	m.info = st
	return m, nil
}

// Close unmaps the file. Its bytes must not be used afterwards.
func (f *File) Close() error {
	if f.unmap == nil {
		return nil
	}
	all.Lock()
	defer all.Unlock()
	delete(all.files, f)
	unmap := f.unmap
	f.unmap, f.data = nil, nil
	return unmap()
}

// all is the set of files that are mapped, for Trim.
var all struct {
	sync.Mutex
	files map[*File]struct{}
}

// mappedFile returns a File for mapped memory, and adds it to all.
func mappedFile(data []byte, unmap func() error) *File {
	f := &File{data: data, unmap: unmap}
	all.Lock()
	defer all.Unlock()
	if all.files == nil {
		all.files = map[*File]struct{}{}
	}
	all.files[f] = struct{}{}
	return f
}

// Trim removes the pages of all mapped files from this process's memory. A page comes
// back when it is read or written next: from the system's page cache as long as that has
// room for it, else from the file.
func Trim() {
	all.Lock()
	defer all.Unlock()
	for f := range all.files {
		f.Done(f.data)
	}
}

// Will tells the system that part of the contents, a slice of Bytes, is read next, from
// front to back. It is only advice.
func (f *File) Will(part []byte) { f.advise(part, willNeed) }

// Done tells the system that part of the contents, a slice of Bytes, is not needed for a
// while: its pages may leave memory, and are read from the file when they are needed
// again. It is only advice.
func (f *File) Done(part []byte) { f.advise(part, notNeeded) }

type advice int

const (
	willNeed advice = iota
	notNeeded
)
