package cuda

import "context"

// A failure is the panic value with which code of this package gives up after an
// error of the device. It never leaves the package: every method that a caller
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
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.err
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
