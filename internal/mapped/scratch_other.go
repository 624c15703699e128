//go:build !linux

package mapped

import "errors"

// Scratch is supported on Linux only.
func Scratch(string, int) (*File, error) { return nil, errors.ErrUnsupported }
