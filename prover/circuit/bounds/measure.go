package bounds

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Measure returns what weights are, as a certificate would have it that states of them
// what it can.
func Measure(g *model.Graph, w model.Weights) *Certified {
	c := &Certified{Ranges: map[model.TensorID]Interval{}, Sums: map[Sum]SumBound{}}
	for _, id := range g.FixedIDs() {
		all, buf := nothing, []int32(nil)
		for from, n := 0, w[id].Len(); from < n; from += 1 << 12 {
			for _, x := range ints.Part(w[id], from, min(n, from+1<<12), &buf) {
				all = all.hull(point(int64(x)))
			}
		}
		c.Ranges[id] = all
	}
	for _, s := range Sums(g) {
		c.Sums[s] = MeasureSum(g.Tensors[s.Tensor].Shape, s.Axes, w[s.Tensor], 0)
	}
	return c
}

// MeasureSum returns the greatest sums over the axes of the parts of a tensor's entries
// w: P, P − w and 2·P − w, where P is max(w, 0), or for a negative number as many of its lowest
// bits.
func MeasureSum(shape []int, axes uint, w ints.Ints, lowest int) SumBound {
	// The sum that an entry is in follows from its indexes on the other axes.
	strides := make([]int, len(shape))
	n := 1
	for a := len(shape) - 1; a >= 0; a-- {
		if axes>>a&1 == 0 {
			strides[a] = n
			n *= shape[a]
		}
	}
	sums := make([]SumBound, n)
	last := len(shape) - 1
	row := make([]int32, shape[last])
	index := make([]int, last)
	first := 0
	for from := 0; from < w.Len(); from += len(row) {
		w.Read(row, from)
		at := first
		for _, x := range row {
			s, p := &sums[at], int64(x)
			if p < 0 {
				p &= 1<<lowest - 1
			}
			s.Positive += p
			s.Negative += p - int64(x)
			s.Both += 2*p - int64(x)
			at += strides[last]
		}
		for a := last - 1; a >= 0; a-- {
			first += strides[a]
			if index[a]++; index[a] < shape[a] {
				break
			}
			first -= strides[a] * shape[a]
			index[a] = 0
		}
	}
	var most SumBound
	for _, s := range sums {
		most = SumBound{max(most.Positive, s.Positive), max(most.Negative, s.Negative), max(most.Both, s.Both)}
	}
	return most
}
