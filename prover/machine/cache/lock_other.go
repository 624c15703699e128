//go:build !unix && !windows

package cache

import (
	"errors"
	"os"
)

// tryLock fails: there are no locks that end with a process.
func tryLock(*os.File) error { return errors.ErrUnsupported }
