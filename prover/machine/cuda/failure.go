package cuda

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

// check gives up if err is not nil.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// catch is deferred by methods that return err.
func catch(err *error) {
	if failed := recovered(recover()); failed != nil {
		*err = failed
	}
}

// recovered returns the error with which code of these packages gave up, nil for no panic. It panics again
// with any other value.
func recovered(p any) error {
	switch p := p.(type) {
	case nil:
		return nil
	case failure:
		return p.err
	default:
		panic(p)
	}
}

// pass runs a pass over data on the device, unless the context has ended.
func pass[R any](ctx context.Context, f func() R) (v R, err error) {
	defer catch(&err)
	check(ctx.Err())
	return f(), nil
}

// attempt returns what f returns, or the error of another device with which it gives up.
func attempt[R any](f func() R) (v R, failed *ContextError) {
	defer func() {
		if err := recovered(recover()); err != nil && !errors.As(err, &failed) {
			panic(failure{err})
		}
	}()
	return f(), nil
}

// ContextError is an error of one of several devices.
type ContextError struct {
	On  *Context
	Err error
}

func (e *ContextError) Error() string { return e.Err.Error() }

func (e *ContextError) Unwrap() error { return e.Err }
