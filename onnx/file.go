package onnx

import (
	"fmt"
	"os"
)

// maxFile bounds what is read of one file; tensors beyond it belong into
// several external files.
const maxFile = 1 << 40

// file is the contents of a model or data file, mapped where the system can.
type file struct {
	data  []byte
	unmap func() error // nil when data is on the heap
}

// Bytes implements graph.File.
func (f *file) Bytes() []byte { return f.data }

// readFile reads or maps an open file whole.
func readFile(f *os.File) (*file, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", f.Name())
	}
	n := st.Size()
	if n > maxFile || int64(int(n)) != n {
		return nil, fmt.Errorf("%s: %d bytes are too many", f.Name(), n)
	}
	return mapFile(f, int(n))
}

func (f *file) Close() error {
	if f.unmap == nil {
		return nil
	}
	unmap := f.unmap
	f.unmap, f.data = nil, nil
	return unmap()
}
