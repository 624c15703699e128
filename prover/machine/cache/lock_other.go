//go:build !unix && !windows

package cache

import (
	"errors"
	"os"
)

// tryLock fails: these systems have no file locks that end with the process.
func tryLock(*os.File) error { return errors.ErrUnsupported }
