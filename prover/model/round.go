package model

import (
	"fmt"
	"math"
)

// RoundInputs rounds the real values of each input of the graph to integers, in
// the inputs' order. Values outside of an input's range are clamped; clamped is their
// number. Those of inputs that are indexes, such as tokens, must be whole and within; where
// all axes that they are indexes of have one length, they may count from the end, and
// become what they mean. It is an error if they are not as many as the inputs have, or not
// finite.
func (g *Graph) RoundInputs(inputs [][]float64) (ints [][]int32, clamped int, err error) {
	if len(inputs) != len(g.Inputs) {
		return nil, 0, fmt.Errorf("%d inputs given, the model has %d", len(inputs), len(g.Inputs))
	}
	for i, id := range g.Inputs {
		t := &g.Tensors[id]
		if len(inputs[i]) != Size(t.Shape) {
			return nil, 0, fmt.Errorf("input %q has %d entries, want %d", t.Name, len(inputs[i]), Size(t.Shape))
		}
		index := g.IsIds(id)
		length := g.indexed(id)
		v := make([]int32, len(inputs[i]))
		for j, x := range inputs[i] {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, 0, fmt.Errorf("input %q: entry %d is %g", t.Name, j, x)
			}
			r := math.Round(math.Ldexp(x, t.FracAt(j)))
			if r < 0 && r >= -float64(length) {
				x, r = x+float64(length), r+float64(length)
			}
			if index && (r != x || r < float64(t.Min) || r > float64(t.Max)) {
				return nil, 0, fmt.Errorf("input %q: entry %d is %v; it is an index, a whole number from %d to %d", t.Name, j, x, t.Min, t.Max)
			}
			if r < float64(t.Min) || r > float64(t.Max) {
				clamped++
				r = math.Max(float64(t.Min), math.Min(float64(t.Max), r))
			}
			v[j] = int32(r)
		}
		ints = append(ints, v)
	}
	return ints, clamped, nil
}

// Clamped counts the real values, whole rows, that RoundInputs clamps.
func (t *Tensor) Clamped(values []float64) int {
	n := 0
	for i, x := range values {
		if r := math.Round(math.Ldexp(x, t.FracAt(i))); r < float64(t.Min) || r > float64(t.Max) {
			n++
		}
	}
	return n
}

// Reals returns the real values that integers of the tensor stand for, whole rows
// from its first entry on.
func (t *Tensor) Reals(ints []int32) []float64 {
	out := make([]float64, len(ints))
	if len(t.Fracs) > 0 {
		for i, x := range ints {
			out[i] = math.Ldexp(float64(x), -t.FracAt(i))
		}
		return out
	}
	// In two factors, each a number of its own: a product with a power of two is exact.
	half := t.Frac / 2
	a, b := math.Ldexp(1, -half), math.Ldexp(1, half-t.Frac)
	for i, x := range ints {
		out[i] = float64(x) * a * b
	}
	return out
}
