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
	return d.Launch(k, Launch{GridX: (n + threads - 1) / threads, Block: threads}, args...)
}

// positive fails unless all numbers are.
func positive(k Kernel, sizes ...int) error {
	for _, n := range sizes {
		if n < 1 {
			return fmt.Errorf("%w: %s of %v", ErrSize, k.Name, sizes)
		}
	}
	return nil
}

// Offset returns the address of element i of an array with elements of the given
// size.
func (p Ptr) Offset(i, size int) Ptr { return p + Ptr(i)*Ptr(size) }
