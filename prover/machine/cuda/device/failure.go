package device

import (
	"context"
	"errors"
)

// A failure is the panic value with which code of this package, and of those above it, gives up after an
// error of the device. It never leaves them: every method that a caller of package cuda
// sees turns it into its error with catch. A sequence of launches reads as one that
// way, and there is nothing that could be done about an error in the middle of it
// but to stop.
type failure struct{ err error }

// Check gives up if err is not nil.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get is Check for a call with a result.
func Get[T any](v T, err error) T {
	Check(err)
	return v
}

// Catch is deferred by methods that return err.
func Catch(err *error) {
	if failed := Recovered(recover()); failed != nil {
		*err = failed
	}
}

// Recovered returns the error with which code of these packages gave up, nil for no panic. It panics again
// with any other value.
func Recovered(p any) error {
	switch p := p.(type) {
	case nil:
		return nil
	case failure:
		return p.err
	default:
		panic(p)
	}
}

// Pass runs a pass over data on the device, unless the context has ended.
func Pass[R any](ctx context.Context, f func() R) (v R, err error) {
	defer Catch(&err)
	Check(ctx.Err())
	return f(), nil
}

// Attempt returns what f returns, or the error of another device with which it gives up.
func Attempt[R any](f func() R) (v R, failed *Error) {
	defer func() {
		if err := Recovered(recover()); err != nil && !errors.As(err, &failed) {
			panic(failure{err})
		}
	}()
	return f(), nil
}

// Error is an error of one of several devices.
type Error struct {
	On  *Context
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }
