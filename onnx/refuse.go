package onnx

import "fmt"

// refusal is the panic with which a file is refused outside of its nodes (see nodeFailure). It does not leave this package:
// what reads a file makes it an error (caught).
type refusal struct{ error }

// refuse ends the reading of a file with a reason.
func refuse(format string, args ...any) { panic(refusal{fmt.Errorf(format, args...)}) }

// check refuses the file if there is an error.
func check(err error) {
	if err != nil {
		panic(refusal{err})
	}
}

// must returns a value, or refuses the file with the error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// caught returns the error with which f refuses a file.
func caught(f func()) (err error) {
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

// resultOf returns what f gives, or the error with which it refuses a file.
func resultOf[T any](f func() T) (v T, err error) {
	err = caught(func() { v = f() })
	return v, err
}
