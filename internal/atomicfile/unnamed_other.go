//go:build !linux

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// createUnnamed returns nil: files without names are supported on Linux only.
func createUnnamed(string, string, fs.FileMode) *os.File { return nil }

// link serves only files without names, of which there are none here.
func link(*os.File, string) error { return errors.ErrUnsupported }
