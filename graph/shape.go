package graph

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Limits on tensors. They are far above what can be proved, and small enough that products of
// them do not overflow.
const (
	MaxRank     = 16
	MaxElements = 1 << 36
	// MaxActivations bounds the elements of one computed value, and the elements of all
	// computed values that are in memory at a time.
	MaxActivations = 1 << 29
	// MaxInput bounds the elements of an input. Inputs and outputs are public, and a proof has
	// no more public elements.
	MaxInput = 1 << 24
	// MaxComputed bounds the elements of all computed values together, so that a small
	// hostile model cannot ask for much work and memory later. ViT-H/14 at 224² has 2^29.7.
	MaxComputed = 1 << 32
)

// CheckShape turns dims into a shape. It returns an error if the rank or the product is
// above the limits, or a dimension is negative. Zero dimensions are allowed, as constants
// may be empty.
func CheckShape[T int | int64](dims []T) ([]int, error) {
	if len(dims) > MaxRank {
		return nil, fmt.Errorf("%d axes, more than %d", len(dims), MaxRank)
	}
	shape := make([]int, len(dims))
	n := 1
	for i, d := range dims {
		if d < 0 {
			return nil, fmt.Errorf("negative dimension %d", d)
		}
		// Bounded axis by axis, so that a later zero cannot hide an overflow.
		if d > MaxElements || n > MaxElements/max(int(d), 1) {
			return nil, fmt.Errorf("dimensions %v are too large", dims)
		}
		n *= max(int(d), 1)
		shape[i] = int(d)
	}
	return shape, nil
}

// checkInts is CheckShape for a shape that was computed.
func checkInts(shape []int) error {
	_, err := CheckShape(shape)
	return err
}

// Size returns the product of the dimensions of a shape that is known to be
// within the limits.
func Size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Broadcast returns the NumPy broadcast of two shapes, or false.
func Broadcast(a, b []int) ([]int, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	off := len(a) - len(b)
	for i, d := range b {
		switch {
		case out[off+i] == d || d == 1:
		case out[off+i] == 1:
			out[off+i] = d
		default:
			return nil, false
		}
	}
	return out, true
}

// broadcast is Broadcast, but refuses shapes that do not broadcast.
func broadcast(a, b []int) []int {
	s, ok := Broadcast(a, b)
	refuse.If(!ok, "shapes %v and %v do not broadcast", a, b)
	return s
}

// spreads says whether a shape broadcasts to another.
func spreads(from, to []int) bool {
	s, ok := Broadcast(from, to)
	return ok && slices.Equal(s, to)
}

// checkAxes refuses axes that are not strictly ascending axes of a tensor of the given
// rank.
func checkAxes(axes []int, rank int) {
	for i, a := range axes {
		refuse.If(a < 0 || a >= rank, "axis %d of a tensor with %d axes", a, rank)
		refuse.If(i > 0 && a <= axes[i-1], "axes %v are not ascending", axes)
	}
}

// Strides returns, for each axis, the distance of neighbours along it in row-major order.
func Strides(shape []int) []int {
	out := make([]int, len(shape))
	s := 1
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = s
		s *= shape[i]
	}
	return out
}
