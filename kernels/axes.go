package kernels

import (
	"fmt"
	"math/bits"
)

// MaxAxes is the largest number of axes of a tensor that kernels index.
const MaxAxes = 8

// axes returns dimensions as MaxAxes arguments of a kernel, with ones in front, and
// their product.
func axes(dims []int) (args []uint64, size int, err error) {
	if len(dims) > MaxAxes {
		return nil, 0, fmt.Errorf("a tensor of %d axes", len(dims))
	}
	args, size = make([]uint64, MaxAxes), 1
	for i := range args {
		args[i] = 1
	}
	for i, d := range dims {
		if d < 1 || d > 1<<40/size {
			return nil, 0, fmt.Errorf("a tensor of shape %v", dims)
		}
		args[MaxAxes-len(dims)+i] = uint64(d)
		size *= d
	}
	return args, size, nil
}

// PaddedSize returns the number of entries of a shape with every axis padded to
// a power of two.
func PaddedSize(dims []int) int {
	n := 1
	for _, d := range dims {
		n <<= bits.Len(uint(d - 1))
	}
	return n
}
