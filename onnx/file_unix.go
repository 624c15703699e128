//go:build unix

package onnx

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// mapThreshold is the size below which a file is simply read.
const mapThreshold = 1 << 20

// mapFile maps the n bytes of f read-only, or reads them when they are few. A
// mapped file must not be truncated while in use.
func mapFile(f *os.File, n int) (*file, error) {
	if n < mapThreshold {
		data, err := io.ReadAll(io.LimitReader(f, int64(n)))
		return &file{data: data}, err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", f.Name(), err)
	}
	return &file{data: data, unmap: func() error { return unix.Munmap(data) }}, nil
}
