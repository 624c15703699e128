//go:build unix

package onnx

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mapThreshold is the size below which a file is simply read.
const mapThreshold = 1 << 20

// openFile maps path read-only, or reads it when it is small.
func openFile(path string) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	n := st.Size()
	if n < mapThreshold {
		data, err := os.ReadFile(path)
		return &file{data: data}, err
	}
	if int64(int(n)) != n {
		return nil, fmt.Errorf("%s: %d bytes are too many for this machine", path, n)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(n), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	return &file{data: data, unmap: func() error { return unix.Munmap(data) }}, nil
}
