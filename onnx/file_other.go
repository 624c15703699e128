//go:build !unix

package onnx

import (
	"io"
	"os"
)

// mapFile reads the n bytes of f.
func mapFile(f *os.File, n int) (*file, error) {
	data, err := io.ReadAll(io.LimitReader(f, int64(n)))
	return &file{data: data}, err
}
