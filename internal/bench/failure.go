package bench

// A measurement is a long sequence of calls of which none is expected to fail. An
// error of one is a panic with a failure that ends the measurement, where catch
// makes an error of it again.
type failure struct{ err error }

// check ends the measurement if err is not nil.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must is check for a call with a result.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// catch runs a measurement and returns the error that ended it.
func catch(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			panic(p)
		}
	}()
	f()
	return nil
}
