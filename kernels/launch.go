package kernels

import (
	"errors"
	"fmt"
)

// ErrSize is wrapped by the error of a function that is given sizes which its kernel
// cannot take.
var ErrSize = errors.New("kernels: sizes do not fit")

// threads is the number of threads of a block of kernels with one thread for each element.
const threads = 256

// launchFor launches a kernel with a thread for each of n elements.
func launchFor(d Device, k Kernel, n int, args ...uint64) error {
	return d.Launch(k, perElement(n), args...)
}

func perElement(n int) Launch { return Launch{GridX: (n + threads - 1) / threads, Block: threads} }

// positive returns an error unless all numbers are positive.
func positive(k Kernel, sizes ...int) error {
	for _, n := range sizes {
		if n < 1 {
			return fmt.Errorf("%w: %s of %v", ErrSize, k.Name, sizes)
		}
	}
	return nil
}

// sized is a kernel whose sizes have been checked. If they are wrong, launching it returns the error.
type sized struct {
	Kernel
	err error
}

// of checks that sizes are positive.
func (k Kernel) of(sizes ...int) sized { return sized{k, positive(k, sizes...)} }

// unless makes launching the kernel an error if `wrong` is set. format and args say what is wrong.
func (k sized) unless(wrong bool, format string, args ...any) sized {
	if k.err == nil && wrong {
		k.err = fmt.Errorf("%w: %s %s", ErrSize, k.Name, fmt.Sprintf(format, args...))
	}
	return k
}

// launch launches the kernel, or returns the error of its sizes.
func (k sized) launch(d Device, l Launch, args ...uint64) error {
	if k.err != nil {
		return k.err
	}
	return d.Launch(k.Kernel, l, args...)
}

// each launches the kernel with a thread for each of n elements.
func (k sized) each(d Device, n int, args ...uint64) error {
	return k.launch(d, perElement(n), args...)
}

// Offset returns the address of element i of an array with elements of the given
// size.
func (p Ptr) Offset(i, size int) Ptr { return p + Ptr(i)*Ptr(size) }
