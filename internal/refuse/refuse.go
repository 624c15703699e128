// Package refuse stops the reading of a file, or the making of a circuit, from deep inside it. Functions do not return errors through
// many levels of calls: they refuse by a panic of package must, and the exported functions turn this panic into an error before they
// return (Caught), as encoding/json does. Other panics, such as an index out of range, stay panics.
package refuse

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
)

// With refuses with a reason, which is formatted as by fmt.Errorf.
func With(format string, args ...any) { must.OK(fmt.Errorf(format, args...)) }

// If refuses with a reason if is is true. The arguments of the reason are always computed, so they should be plain values, and If
// should not be called in loops over data.
func If(is bool, format string, args ...any) {
	if is {
		With(format, args...)
	}
}

// Caught calls f and returns the error with which it refuses; nil if it does not.
func Caught(f func()) (err error) {
	defer must.Catch(&err)
	f()
	return nil
}

// Result returns the result of f, or the error with which f refuses.
func Result[T any](f func() T) (v T, err error) {
	err = Caught(func() { v = f() })
	return v, err
}

// Within calls f. If f refuses, Within refuses with the same reason, prefixed by part,
// which names what f reads.
func Within(part string, f func()) {
	if err := Caught(f); err != nil {
		With("%s: %w", part, err)
	}
}
