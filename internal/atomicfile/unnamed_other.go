//go:build !linux

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// createUnnamed returns nil: there are no files without names.
func createUnnamed(string, string, fs.FileMode) *os.File { return nil }

// link is for files without names alone.
func link(*os.File, string) error { return errors.ErrUnsupported }
