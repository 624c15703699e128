package onnx

// file is the contents of a model or data file, mapped where the system can.
type file struct {
	data  []byte
	unmap func() error // nil when data is on the heap
}

func (f *file) close() error {
	if f.unmap == nil {
		return nil
	}
	unmap := f.unmap
	f.unmap, f.data = nil, nil
	return unmap()
}
