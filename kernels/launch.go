package kernels

import (
	"errors"
	"fmt"
)

// ErrSize is the reason a launcher fails with for sizes that its kernel cannot
// take.
var ErrSize = errors.New("kernels: sizes do not fit")

// threads is the block size of kernels with one thread an element.
const threads = 256

// launchFor launches a kernel with a thread for each of n elements.
func launchFor(d Device, k Kernel, n int, args ...uint64) error {
	return d.Launch(k, perElement(n), args...)
}

func perElement(n int) Launch { return Launch{GridX: (n + threads - 1) / threads, Block: threads} }

// positive fails unless all numbers are.
func positive(k Kernel, sizes ...int) error {
	for _, n := range sizes {
		if n < 1 {
			return fmt.Errorf("%w: %s of %v", ErrSize, k.Name, sizes)
		}
	}
	return nil
}

// sized is a kernel whose sizes have been checked: where they do not fit, launching it is the error.
type sized struct {
	Kernel
	err error
}

// of checks that sizes are positive.
func (k Kernel) of(sizes ...int) sized { return sized{k, positive(k, sizes...)} }

// unless has launching it be an error where what it is asked for is wrong in a way that the sizes alone do not say.
func (k sized) unless(wrong bool, format string, args ...any) sized {
	if k.err == nil && wrong {
		k.err = fmt.Errorf("%w: %s %s", ErrSize, k.Name, fmt.Sprintf(format, args...))
	}
	return k
}

func (k sized) launch(d Device, l Launch, args ...uint64) error {
	if k.err != nil {
		return k.err
	}
	return d.Launch(k.Kernel, l, args...)
}

// each launches a thread for each of n elements.
func (k sized) each(d Device, n int, args ...uint64) error {
	return k.launch(d, perElement(n), args...)
}

// Offset returns the address of element i of an array with elements of the given
// size.
func (p Ptr) Offset(i, size int) Ptr { return p + Ptr(i)*Ptr(size) }
