package bounds

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Sum names sums of the entries of a fixed tensor: over some of its axes, one sum for
// every index of the others.
type Sum struct {
	Tensor model.TensorID
	Axes   uint // bit a stands for axis a
}

// SumBound bounds all sums of the positive entries, of the negated negative ones, and of the
// two together.
type SumBound struct{ Positive, Negative, Both int64 }

// of is the greatest sum of lo times the negative part and hi times the positive one,
// neither negative.
func (p SumBound) of(lo, hi int64) int64 {
	positive, negative := min(p.Positive, p.Both), min(p.Negative, p.Both)
	if hi >= lo {
		negative = min(negative, p.Both-positive)
	} else {
		positive = min(positive, p.Both-negative)
	}
	return clip(times(hi, positive) + times(lo, negative))
}

// Certified is what is known of the fixed tensors of a circuit.
type Certified struct {
	// Ranges hold the entries of every fixed tensor.
	Ranges map[model.TensorID]Interval
	// Sums bound the sums that products need (Sums).
	Sums map[Sum]SumBound
}

// SumOf returns the sums that a product takes of one of its operands, that with the
// given labels, where the output has so many axes. Along the label one, if it is not −1, at most
// one entry counts. It reports false if every entry of the product has one entry of the operand.
func SumOf(id model.TensorID, labels []int, rank, one int) (Sum, bool) {
	s := Sum{Tensor: id}
	for a, l := range labels {
		if l >= rank && l != one {
			s.Axes |= 1 << a
		}
	}
	return s, s.Axes != 0
}

// Sums lists the sums of fixed tensors that the products of a circuit take, each once,
// in the order of the steps.
func Sums(g *model.Graph) []Sum {
	var list []Sum
	seen, hot := map[Sum]bool{}, map[model.TensorID]int{}
	for i := range g.Steps {
		s := &g.Steps[i]
		if id, axis, ok := OneHot(g, s); ok {
			hot[id] = axis
		}
		for j := range s.Acc.Products {
			p := &s.Acc.Products[j]
			one := single(g, p, len(s.Shape), hot)
			for _, op := range operands(p) {
				if g.Tensors[op.id].Kind != model.Fixed {
					continue
				}
				if sum, ok := SumOf(op.id, op.labels, len(s.Shape), one); ok && !seen[sum] {
					seen[sum] = true
					list = append(list, sum)
				}
			}
		}
	}
	return list
}
