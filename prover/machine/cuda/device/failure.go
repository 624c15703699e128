package device

import (
	"context"
	"errors"
)

// A failure is the panic value with which the packages under cuda give up after an error of the device. So a sequence of launches
// needs no branch after each; an error in the middle of it leaves nothing to do but to stop. Scopes are closed with defer, so their
// memory is freed all the same. The panic never reaches a caller of package cuda: every method that it exports returns the error in
// place of it (Catch, Pass).
type failure struct{ err error }

// Check gives up if err is not nil: it panics with a failure, which Catch, Pass or Attempt recovers.
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

// Catch sets *err to the error of a failure. It is deferred by methods that return err.
func Catch(err *error) {
	if failed := Recovered(recover()); failed != nil {
		*err = failed
	}
}

// Recovered returns the error of a failure p that recover returned, and nil if p is nil. It panics again with any other value.
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

// Pass runs f, a pass over data on the device, and returns the error with which f gives up. If the context has ended, it returns the
// context's error and does not run f.
func Pass[R any](ctx context.Context, f func() R) (v R, err error) {
	defer Catch(&err)
	Check(ctx.Err())
	return f(), nil
}

// Attempt returns what f returns. If f gives up with an Error, which names the device that failed, Attempt returns that as failed.
// Any other failure, an error of the device on which f runs, goes on as a panic.
func Attempt[R any](f func() R) (v R, failed *Error) {
	defer func() {
		if err := Recovered(recover()); err != nil && !errors.As(err, &failed) {
			panic(failure{err})
		}
	}()
	return f(), nil
}

// Error is an error of one of several devices, where the caller must know of which.
type Error struct {
	On  *Context // the device that failed
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }
