// Package refuse ends the reading of a file, or the making of a circuit, from somewhere within it. Functions of many parts refuse with a
// panic, that of package must, instead of handing an error through all of them, and the package makes that an error again before it
// returns (Caught), as encoding/json does. Panics of other kinds, such as an index out of range, stay panics.
package refuse

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
)

// With refuses with a reason.
func With(format string, args ...any) { must.OK(fmt.Errorf(format, args...)) }

// If refuses with a reason if something is so. The reason's arguments are computed in any case: they are plain values, and outside of
// loops over data.
func If(is bool, format string, args ...any) {
	if is {
		With(format, args...)
	}
}

// Caught returns the error with which f refuses, nil if it does not.
func Caught(f func()) (err error) {
	defer must.Catch(&err)
	f()
	return nil
}

// Result returns what f gives, or the error with which it refuses.
func Result[T any](f func() T) (v T, err error) {
	err = Caught(func() { v = f() })
	return v, err
}

// Within has what f refuses be about a part of what is read.
func Within(part string, f func()) {
	if err := Caught(f); err != nil {
		With("%s: %w", part, err)
	}
}
