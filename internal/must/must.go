// Package must is for functions that consist of a sequence of calls, and return the first error of these. must ends them by a panic,
// which never leaves the package that uses it: each function that other packages call, and each goroutine, defers Catch. Verifiers, and
// readers of keys and proofs, return their errors instead.
package must

import "fmt"

// failure is the value of must's panics.
type failure struct{ err error }

// Error makes the error visible if nobody catches the panic.
func (f failure) Error() string { return f.err.Error() }

// OK ends the sequence, by a panic, if err is not nil.
func OK(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get is OK for a call with a result, which it returns.
func Get[T any](v T, err error) T {
	OK(err)
	return v
}

// OKAs is OK, but prefixes the error by what has failed; what and args are formatted as by fmt.Sprintf.
func OKAs(err error, what string, args ...any) {
	if err != nil {
		panic(failure{fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), err)})
	}
}

// GetAs is Get, but prefixes the error as OKAs does:
// must.GetAs(os.Open(path))("certificate").
func GetAs[T any](v T, err error) func(what string, args ...any) T {
	return func(what string, args ...any) T {
		OKAs(err, what, args...)
		return v
	}
}

// Catch is to be deferred. It sets err to the error that has ended the sequence. It passes
// other panics on.
func Catch(err *error) {
	if p := recover(); p != nil {
		*err = Reason(p)
	}
}

// Reason returns the error of a recovered panic p of this package, for deferred functions that do more than Catch. It passes other
// panics on.
func Reason(p any) error {
	if f, is := p.(failure); is {
		return f.err
	}
	panic(p)
}
