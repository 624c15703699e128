package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/refuse"
)

// LogBands is log(max(Σ w·Σ x², Least) + Epsilon), the logarithm of the power in bands of a
// spectrum. The weights w have shape [bins, bands] and are not negative. The inner sum is along the
// last axis of the first operand, the outer one along the axis before it (bins).
type LogBands struct {
	Least, Epsilon float64 // not negative, and at least one of them positive
}

func (LogBands) takes() operands { return operands{2, 2, floats} }

func (l LogBands) infer(in []operandType) operandType {
	x, w := in[0].shape, in[1].shape
	last := len(x) - 1
	switch {
	case last < 1 || len(w) != 2 || w[0] != x[last-1]:
		refuse.With("weights of shape %v do not fit %v", w, x)
	case in[1].value == nil:
		refuse.With("its weights are not constant")
	case !(l.Least >= 0 && l.Epsilon >= 0 && l.Least+l.Epsilon > 0) || math.IsInf(l.Least+l.Epsilon, 0):
		refuse.With("its bounds are %v and %v", l.Least, l.Epsilon)
	}
	return operandType{shape: append(slices.Clone(x[:last-1]), w[1]), dtype: in[0].dtype}
}

// eval computes the power Σ x² of each bin once, and adds it, weighted, to all bands.
func (l LogBands) eval(in []operand, shape []int) operand {
	x, w := in[0].float64s(), in[1].float64s()
	bins, bands := in[1].shape[0], in[1].shape[1]
	parts := in[0].shape[len(in[0].shape)-1]
	out := make([]float64, Size(shape))
	for row := range len(out) / bands {
		sums := out[row*bands : (row+1)*bands]
		for bin := range bins {
			at, power := (row*bins+bin)*parts, 0.0
			for _, v := range x[at : at+parts] {
				power += float64(v * v)
			}
			for band := range sums {
				sums[band] += float64(w[bin*bands+band] * power)
			}
		}
		for band, s := range sums {
			sums[band] = elementary.Log(math.Max(s, l.Least) + l.Epsilon)
		}
	}
	return operand{shape: shape, f: out}
}

// floorPart is the fraction of the model's lower bound that a LogBands made of it uses as its
// Least. A Clip of the logarithm at the model's bound follows, so sums below the bound give
// exactly the bound.
const floorPart = 1.0 / 16

// logOfBands returns the logarithm of s as a LogBands, if s is max(p, c) or p + c and p is the
// product of powers (sums of a few squares) with a constant matrix that has no negative entries. If
// the sum were a value of its own in fixed point, it would need twice the digits of the numbers
// that are squared, and in the logarithm the smallest sums matter as much as the largest.
func (b *Builder) logOfBands(s *value) (Value, bool) {
	var op LogBands
	if add := operation(s, Add); add != nil {
		x, c, ok := split(add)
		if !ok || c <= 0 || !slices.Equal(x.shape, s.shape) {
			return Value{}, false
		}
		s, op.Epsilon = x, c
	} else if x, p := function(s, Clip); x != nil && p[0] > 0 && math.IsInf(p[1], 1) {
		s, op.Least = x, p[0]
	} else {
		return Value{}, false
	}
	s, moves := unmoved(s)
	if s.node == nil || s.node.op != (MatMul{}) {
		return Value{}, false
	}
	power, weights := s.node.in[0], s.node.in[1]
	left := power.tensor != nil // weights·powers is the transpose of powersᵀ·weightsᵀ
	if left {
		power, weights = weights, power
		moves = append(moves, Transpose{lastTwo(len(s.shape))})
	}
	t := weights.tensor
	if power.tensor != nil || t == nil || len(t.Shape) != 2 || len(power.shape) < 2 || len(power.shape)+1 > MaxRank {
		return Value{}, false
	}
	rows, ok := b.squareRoots(power)
	if !ok || t.Len() == 0 || !t.all(func(x float64) bool { return x >= 0 }) {
		return Value{}, false
	}
	if left {
		rows = b.Transpose(rows, append(lastTwo(len(power.shape)), len(power.shape)))
	}
	v := b.moved(b.bands(op, rows, t, left), moves)
	return v, b.valid(v)
}

// lastTwo is the permutation of so many axes that swaps the last two.
func lastTwo(rank int) []int {
	perm := index(rank, 1)
	perm[rank-2], perm[rank-1] = rank-1, rank-2
	return perm
}

// bands applies op to rows and a constant matrix t, whose columns, or rows if turned is set, are
// the weights of the bands. If op has no Epsilon, the weights of each band are multiplied by a
// power of two that brings the largest near 1, so that those of all bands are equally precise, and
// the logarithm of this power is subtracted from the result.
func (b *Builder) bands(op LogBands, rows Value, t *Tensor, turned bool) Value {
	bins, bands := t.Shape[0], t.Shape[1]
	at := func(bin, band int) float64 { return t.At(bin*bands + band) }
	if turned {
		bins, bands = bands, bins
		at = func(bin, band int) float64 { return t.At(band*t.Shape[1] + bin) }
	}
	scaled, logs := make([]float32, bins*bands), make([]float32, bands)
	added, least := op.Epsilon > 0, math.Inf(1)
	for band := range bands {
		most := 0.0
		for bin := range bins {
			most = math.Max(most, at(bin, band))
		}
		_, exp := math.Frexp(most)
		if added {
			exp = 0
		}
		for bin := range bins {
			scaled[bin*bands+band] = float32(math.Ldexp(at(bin, band), -exp))
		}
		logs[band] = float32(float64(exp) * math.Ln2)
		least = math.Min(least, math.Ldexp(op.Least, -exp))
	}
	weights := b.made("weights of bands", &Tensor{Shape: []int{bins, bands}, DType: Float, F32: scaled, Public: t.Public})
	if added {
		return b.emit(op, rows, weights)
	}
	v := b.emit(LogBands{Least: least * floorPart}, rows, weights)
	v = b.Add(v, b.made("logarithms of bands", &Tensor{Shape: []int{bands}, DType: Float, F32: logs, Public: t.Public}))
	return b.Clip(v, elementary.Log(op.Least), math.Inf(1))
}
