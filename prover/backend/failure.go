package backend

// Failure is the panic value with which a backend on a device reports that the
// device let it down: no memory left, a failed launch, a lost device. The
// methods of Backend have no error results, since there is nothing that the
// protocol in between could do about one; [Fallback] catches it and goes on
// elsewhere, package prover turns it into an error.
type Failure struct{ Err error }

// Error gives the device's error.
func (f Failure) Error() string { return "device: " + f.Err.Error() }

// Unwrap returns the device's error.
func (f Failure) Unwrap() error { return f.Err }

// Check panics with a Failure if err is not nil.
func Check(err error) {
	if err != nil {
		panic(Failure{err})
	}
}

// Catch runs f and returns the error of the Failure that it panicked with, or
// nil. Other panics go through.
func Catch(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case Failure:
			err = p.Err
		default:
			panic(p)
		}
	}()
	f()
	return nil
}
