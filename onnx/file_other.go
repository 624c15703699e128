//go:build !unix

package onnx

import "os"

// openFile reads path.
func openFile(path string) (*file, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &file{data: data}, nil
}
