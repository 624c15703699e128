// Package refuse ends the reading of a file from somewhere within it. A reader of many parts refuses the file with a panic
// instead of handing an error through all of them, and its package makes that an error again before it returns (Caught), as
// encoding/json does. Panics of other kinds, such as an index out of range, stay panics.
package refuse

import "fmt"

// refusal is the panic with which a file is refused.
type refusal struct{ error }

// With refuses the file with a reason.
func With(format string, args ...any) { panic(refusal{fmt.Errorf(format, args...)}) }

// Check refuses the file if there is an error.
func Check(err error) {
	if err != nil {
		panic(refusal{err})
	}
}

// Must returns a value, or refuses the file with the error.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Caught returns the error with which f refuses a file, nil if it does not.
func Caught(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case refusal:
			err = p.error
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// Result returns what f gives, or the error with which it refuses a file.
func Result[T any](f func() T) (v T, err error) {
	err = Caught(func() { v = f() })
	return v, err
}

// Within has what f refuses be about a part of the file.
func Within(part string, f func()) {
	if err := Caught(f); err != nil {
		With("%s: %w", part, err)
	}
}
