package model

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/internal/parallel"
)

// RoundInputs rounds the real values of each input that a statement has (Given) to integers, in the inputs'
// order. Values outside an input's range are clamped; clamped is their number. Values of
// index inputs, such as tokens, must be whole numbers within the range. If all axes that they
// index have the same length, negative values count from the end. It is an error if an input
// has another number of values than its tensor, or values that are not finite and for which it has
// no codes.
func (g *Graph) RoundInputs(inputs [][]float64) (ints [][]int32, clamped int, err error) {
	if len(inputs) != len(g.Given()) {
		return nil, 0, fmt.Errorf("%d inputs given, the model has %d", len(inputs), len(g.Given()))
	}
	for i, id := range g.Given() {
		t := &g.Tensors[id]
		if len(inputs[i]) != Size(t.Shape) {
			return nil, 0, fmt.Errorf("input %q has %d entries, want %d", t.Name, len(inputs[i]), Size(t.Shape))
		}
		v, n, err := t.roundInput(inputs[i], g.IsIds(id), g.indexed(id))
		if err != nil {
			return nil, 0, err
		}
		ints, clamped = append(ints, v), clamped+n
	}
	return ints, clamped, nil
}

// roundInput is RoundInputs for one input. index says that its values are indexes, and length is the
// length of all axes that they index, or 0 if these differ.
func (t *Tensor) roundInput(values []float64, index bool, length int) (ints []int32, clamped int, err error) {
	ints = make([]int32, len(values))
	failed := len(values) + 1 // 1 + the index of the first value that is refused, whose error is err
	least, most := t.Finite()
	lo, hi := float64(least), float64(most)
	parallel.Collect(len(values), 1<<12, func(from, to int) func() {
		own, j := 0, from
		var bad error
		for ; j < to && bad == nil; j++ {
			x := values[j]
			if v, ok := t.code(x); ok {
				ints[j] = int32(v)
				continue
			}
			r := math.Round(math.Ldexp(x, t.FracAt(j)))
			if r < 0 && r >= -float64(length) {
				x, r = x+float64(length), r+float64(length)
			}
			switch out := r < lo || r > hi; {
			case math.IsNaN(x) || math.IsInf(x, 0):
				bad = fmt.Errorf("input %q: entry %d is %g", t.Name, j, x)
			case index && (r != x || out):
				bad = fmt.Errorf("input %q: entry %d is %v; it is an index, a whole number from %d to %d", t.Name, j, x, t.Min, t.Max)
			case out:
				own++
				r = math.Max(lo, math.Min(hi, r))
			}
			ints[j] = int32(r)
		}
		return func() {
			if clamped += own; bad != nil && j < failed {
				failed, err = j, bad
			}
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return ints, clamped, nil
}

// Clamped counts how many of the real values RoundInputs clamps. values are whole rows of the tensor, from its first entry on.
func (t *Tensor) Clamped(values []float64) int {
	n := 0
	lo, hi := t.Finite()
	for i, x := range values {
		if _, ok := t.code(x); ok {
			continue
		}
		if r := math.Round(math.Ldexp(x, t.FracAt(i))); r < float64(lo) || r > float64(hi) {
			n++
		}
	}
	return n
}

// realsGrain is the number of values that one goroutine converts.
const realsGrain = 1 << 16

// Reals returns the real values that entries of the tensor stand for. ints are its entries from the
// first on, in whole rows if the tensor has Fracs.
func (t *Tensor) Reals(ints []int32) []float64 {
	out := make([]float64, len(ints))
	if len(t.Fracs) > 0 {
		for i, x := range ints {
			out[i] = math.Ldexp(float64(x), -t.FracAt(i))
		}
		t.decode(out, ints)
		return out
	}
	// 2^(−Frac) may not be a normal float64, so the scale is applied as two powers of two, each of which is. Products
	// with powers of two are exact.
	half := t.Frac / 2
	a, b := math.Ldexp(1, -half), math.Ldexp(1, half-t.Frac)
	parallel.For(len(ints), realsGrain, func(lo, hi int) {
		for i, x := range ints[lo:hi] {
			out[lo+i] = float64(x) * a * b
		}
	})
	t.decode(out, ints)
	return out
}
