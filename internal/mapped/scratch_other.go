//go:build !linux

package mapped

import "errors"

// Scratch maps n bytes of a new file without a name in a folder, on Linux.
func Scratch(string, int) (*File, error) { return nil, errors.ErrUnsupported }
