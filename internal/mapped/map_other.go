//go:build !unix

package mapped

import (
	"io"
	"os"
)

// mapFile reads the n bytes of f.
func mapFile(f *os.File, n int) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(f, int64(n)))
	return &File{data: data}, err
}

func (f *File) advise([]byte, advice) {}
