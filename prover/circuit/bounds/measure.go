package bounds

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Measure returns the tightest Certified for weights: the range of each fixed tensor, and the greatest of each kind of sum that
// the circuit's products need.
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

// MeasureSum returns the greatest sums, over the given axes of a tensor with entries w, of P, of P − w and of 2·P − w. P is w for a
// w that is not negative. For a negative w it is the number that the lowest `lowest` bits of w make: 0 if lowest is 0, so that the three
// are the positive part, the negative part and the magnitude. A certificate has a lowest above 0 where it looks only the upper bits of w
// up (docs/protocol.md, "Certificates").
func MeasureSum(shape []int, axes uint, w ints.Ints, lowest int) SumBound {
	// The sums are numbered by the indexes on the axes that are not summed over, row-major; strides has these axes' strides.
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
	first := 0 // the sum that the first entry of the row belongs to
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
