package bounds

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Sum names the sums of the entries of a fixed tensor over some of its axes: one sum for
// every combination of indexes of the other axes.
type Sum struct {
	Tensor model.TensorID
	Axes   uint // the axes that are summed over: bit a stands for axis a
}

// SumBound has upper bounds for all sums of a Sum: of the positive entries, of the magnitudes of the negative entries, and of the
// magnitudes of all entries.
type SumBound struct{ Positive, Negative, Both int64 }

// of returns the greatest value of hi·positive + lo·negative, where positive and negative are sums within these bounds, for
// hi and lo that are not negative. As much as possible goes to the part with the greater factor.
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
	// Ranges has an interval in which all entries of each fixed tensor lie.
	Ranges map[model.TensorID]Interval
	// Sums has bounds on the sums that products need, which the function Sums lists.
	Sums map[Sum]SumBound
}

// SumOf returns the sums that a product takes of the entries of an operand with the given labels: over its contracted axes. rank is the
// number of axes of the output. The label one, if it is not −1, is not counted, as at most one entry along it is multiplied by a number
// that is not 0. ok is false if there is no axis to sum over.
func SumOf(id model.TensorID, labels []int, rank, one int) (Sum, bool) {
	s := Sum{Tensor: id}
	for a, l := range labels {
		if l >= rank && l != one {
			s.Axes |= 1 << a
		}
	}
	return s, s.Axes != 0
}

// Sums lists the sums of fixed tensors that the products of a circuit's steps take, each once,
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
