// Package must is for functions that are a sequence of calls, of which the first error is theirs. It ends them by a panic, which never
// leaves the package: each function that others call, and each goroutine, defers Catch. Verifiers, and readers of keys and proofs, return
// their errors instead.
package must

import "fmt"

type failure struct{ err error }

// Error is what a panic that nobody catches prints.
func (f failure) Error() string { return f.err.Error() }

// OK ends the sequence if err is not nil.
func OK(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get is OK for a call with a result.
func Get[T any](v T, err error) T {
	OK(err)
	return v
}

// OKAs is OK for an error that is to begin with what has failed: what and args are those of fmt.Sprintf.
func OKAs(err error, what string, args ...any) {
	if err != nil {
		panic(failure{fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), err)})
	}
}

// GetAs is Get for such an error: must.GetAs(os.Open(path))("certificate").
func GetAs[T any](v T, err error) func(what string, args ...any) T {
	return func(what string, args ...any) T {
		OKAs(err, what, args...)
		return v
	}
}

// Catch is deferred, and sets err to the error that has ended the sequence. Other panics go on.
func Catch(err *error) {
	if p := recover(); p != nil {
		*err = Reason(p)
	}
}

// Reason is the error that has ended a sequence by the panic of p, for functions that are deferred as Catch is. Other panics go on.
func Reason(p any) error {
	if f, is := p.(failure); is {
		return f.err
	}
	panic(p)
}
