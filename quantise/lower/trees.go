package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerExceeds, always[graph.Exceeds](Traits{jumps: true}))
	register(lowerForest, always[graph.Forest](Traits{}))
}

// splits returns, by feature, the thresholds that v, of shape [rows, features], is
// compared with, if v has no other use; nil otherwise.
func (l *lowering) splits(v *value) [][]graph.Split {
	if len(v.shape) != 2 {
		return nil
	}
	by, reads := make([][]graph.Split, v.shape[1]), 0
	for _, r := range l.uses.Readers[v.name] {
		if op, ok := r.Op.(graph.Exceeds); ok {
			reads++
			for _, s := range op.Splits {
				by[s.Feature] = append(by[s.Feature], s)
			}
		}
	}
	if reads == 0 || reads != v.uses {
		return nil
	}
	return by
}

// splitInput completes the tensor of an input that is only compared with thresholds.
// Every feature has a scale of its own, on which all its thresholds are within its range, so that clamping a feature does
// not change a comparison. The scale is at least as fine as float32 is at the least magnitude of the feature's
// thresholds, or as fine as 28 bits allow with the largest. It is finer if the features' reach r by calibration
// leaves bits for that.
func splitInput(t model.Tensor, splits [][]graph.Split, r float64) model.Tensor {
	t.Min, t.Max = -1<<fixed.FormatBits, 1<<fixed.FormatBits-1
	for _, list := range splits {
		least, most := math.Inf(1), 0.0
		for _, s := range list {
			// Thresholds near the largest float32 are not reached by numbers of interest, and set no scale.
			if a := math.Abs(float64(s.Value)); a > 0 && a < math.MaxFloat32/4 {
				least, most = math.Min(least, a), math.Max(most, a)
			}
		}
		frac := scaleOf(fixed.FormatBits, r)
		if most > 0 {
			frac = max(frac, 23-fixed.FloorLog2(least)) // the unit of a float32 of that size
			frac = min(frac, scaleOf(fixed.FormatBits, most*(1+1.0/1024)))
		}
		t.Fracs = append(t.Fracs, frac)
	}
	return t
}

// above returns the whole number T such that the integer of a feature satisfies a split if it is greater than T.
//
// For features that are floats (whole is false) the threshold is rounded as the features are, so that a feature that equals the
// threshold still does. For whole numbers it is rounded so that the comparison is exact.
func above(t *model.Tensor, s graph.Split, whole bool) int64 {
	at := float64(s.Value) * fixed.Pow2(t.FracAt(s.Feature))
	switch {
	case whole && s.OrEqual:
		at = math.Ceil(at)
	case whole:
		at = math.Floor(at)
	default:
		at = math.Round(at)
	}
	if s.OrEqual {
		at--
	}
	// T is clamped to the features' range, which changes no comparison.
	return int64(math.Max(float64(t.Min-1), math.Min(float64(t.Max), at)))
}

// misjudged counts the entries of an input for which rounding has changed the result of a comparison: real are the values
// before, ints the integers after.
func misjudged(t *model.Tensor, splits [][]graph.Split, real []float64, ints []int32) int {
	n := 0
	for i, x := range real {
		for _, s := range splits[i%len(splits)] {
			if s.Holds(x) != (int64(ints[i]) > above(t, s, false)) {
				n++
				break
			}
		}
	}
	return n
}

// lowerExceeds lowers comparisons of features with thresholds: tests of x − T − 1 ≥ 0
// for whole numbers T, exact for the integers that the features are.
func lowerExceeds(l *lowering, op graph.Exceeds, v *value, in []*value) {
	x := in[0]
	id := l.tensor(x)
	t := l.Circuit.Tensors[id]
	limits, features := make([]int32, len(op.Splits)), make([]int, len(op.Splits))
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for i, s := range op.Splits {
		features[i] = s.Feature
		at := above(&t, s, l.integers(x.name))
		limits[i] = int32(at)
		lo, hi = min(lo, at), max(hi, at)
	}
	thresholds := l.Fixed(v.name+", thresholds", []int{len(limits)}, 0, lo, hi, fixed.Listed(limits))
	e := l.View(id, fixed.ColumnView(features), v.shape).On(0)
	e = e.Minus(l.View(thresholds, fixed.LabelView([]int{1}, v.shape), v.shape)).PlusConst(-1)
	if e.Abs() >= model.Bound {
		refuse.With("features of up to %d cannot be compared with thresholds of up to %d", max(-t.Min, t.Max), max(-lo, hi))
	}
	v.id = l.NotNegative(v.name, e)
}

// forestBits bounds the sum of the magnitudes of all leaves' weights, to 2^forestBits. So the sums of rows, and
// differences of two of them, fit and are compared exactly.
const forestBits = 28

// lowerForest lowers the sum of the weights of the leaves that rows end in. The operand has, for every row, the bits that say
// which way it goes at each branch.
//
// A row is in a leaf if on the leaf's path the bits that have to be 1 are 1, and those that have to be 0 are
// 0: that is, if the sum of the former bits, less the sum of the latter, less the
// number of the former is 0. That expression is a sum of a few views of the bits, one for each place on
// a path, so that one look-up for each row and leaf tells whether the row is in the leaf. The weights
// are whole numbers on one scale, and their sums are exact.
func lowerForest(l *lowering, op graph.Forest, v *value, in []*value) {
	bits := l.tensor(in[0])
	t := l.Circuit.Tensors[bits]
	over, under := op.Paths()
	sum := &fixed.Int{Shape: []int{v.shape[0], len(over)}}
	views := func(coef int64, paths [][]int) {
		for place := 0; ; place++ {
			index, any := make([]int, len(paths)), false
			for i, p := range paths {
				if index[i] = -1; place < len(p) {
					index[i], any = p[place], true
				}
			}
			if !any {
				return
			}
			sum = sum.Plus(l.View(bits, fixed.ColumnView(index), sum.Shape).Within(min(t.Min, 0), max(t.Max, 0)).Times(coef))
		}
	}
	views(1, over)
	views(-1, under)
	counts := make([]int32, len(over))
	for i, p := range over {
		counts[i] = int32(len(p))
	}
	if most := slices.Max(append(counts, 0)); most > 0 {
		number := l.Fixed(v.name+", bits over", []int{len(counts)}, 0, 0, int64(most), fixed.Listed(counts))
		sum = sum.Minus(l.View(number, fixed.LabelView([]int{1}, sum.Shape), sum.Shape))
	}
	leaves := l.Mapped(v.name+", leaves", sum, l.ZeroTable(max(fixed.TableBits(sum.Min, sum.Max), leastForestTable)), 0, 0, 1)
	weights, least, greatest := l.leafWeights(op, v.node.Inputs[1], v)
	v.id = l.Exact(v.name, l.Product(v.shape, leaves, []int{0, 2}, weights, []int{2, 1}, 1).Within(least, greatest))
}

// leastForestTable is the least size, in bits, of the table that tells whether a row is in a leaf, so that small forests
// share it.
const leastForestTable = 6

// leafWeights returns the weights of a forest's leaves as a fixed tensor, and bounds of the sums of any set of leaves. It rounds
// the weights to the finest scale on which the magnitudes of all leaves' weights add up to 2^forestBits at most. The base
// values of the targets (graph.Forest.Base) are added to the leaves of the first tree, since every row is in exactly one of them.
func (l *lowering) leafWeights(op graph.Forest, name string, v *value) (id model.TensorID, least, greatest int64) {
	t := l.fg.Consts[name]
	leaves, targets := t.Shape[0], t.Shape[1]
	base := make([]float64, leaves*targets)
	for _, first := range op.Trees(leaves)[:min(len(op.Roots), 1)] {
		for _, leaf := range first {
			copy(base[leaf*targets:], op.Base)
		}
	}
	most := 0.0
	for j := range targets {
		sum := 0.0
		for at := j; at < len(base); at += targets {
			sum += math.Abs(t.At(at)) + math.Abs(base[at])
		}
		most = math.Max(most, sum)
	}
	frac := 0
	if most > 0 {
		frac = min(fixed.FloorLog2((fixed.Pow2(forestBits)-float64(2*leaves))/most), 100)
	}
	whole := make([]int32, leaves*targets)
	for j := range targets {
		var down, up int64 // of any set of leaves: these bounds a certificate can show
		for at := j; at < len(base); at += targets {
			x := int64(math.Round(t.At(at)*fixed.Pow2(frac)) + math.Round(base[at]*fixed.Pow2(frac)))
			whole[at] = int32(x)
			down, up = down+min(x, 0), up+max(x, 0)
		}
		least, greatest = min(least, down), max(greatest, up)
	}
	lo, hi := slices.Min(append(whole, 0)), slices.Max(append(whole, 0))
	id = l.Fixed(v.name+", weights", t.Shape, frac, int64(lo), int64(hi), fixed.Listed(whole))
	return id, least, greatest
}
