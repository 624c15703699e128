package reduce

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// formula evaluates the MLE of a tensor by formula, which is zero beyond its
// dimensions (docs/protocol.md, "Quantised graph", Formulas).
func formula(t *model.Tensor, point []field.QM31) field.QM31 {
	f, parts := t.Formula, poly.SplitAxes(t.Shape, point)
	n := uint64(t.Shape[0])
	switch f.Kind {
	case model.AtMost:
		return poly.AtMostEval(parts[0], parts[1], n, uint64(t.Shape[1]), f.Offset)
	case model.AtLeast: // j ≤ i − offset
		return poly.AtMostEval(parts[1], parts[0], uint64(t.Shape[1]), n, -f.Offset)
	case model.Equal:
		return poly.EqualEval(parts[0], parts[1], n, uint64(t.Shape[1]), f.Offset)
	default:
		ones := poly.MaskEval(parts[0], n).MulM31(field.FromInt64(f.Offset))
		return ones.Add(poly.IndexMaskEval(parts[0], n).MulM31(field.FromInt64(f.Step)))
	}
}

func isMarks(t *model.Tensor) bool { return t.Derived != nil && t.Derived.Kind == model.Marks }

// marks evaluates the MLE of a tensor of marks (model.Marks) of n stated indexes at a point. A row of
// the tensor has Lift at the place of each of its indexes but the last, and −1 is added at all places
// before the last one. The row's part is the MLE of this times the weight of the row, eq at the
// coordinates of the other axes.
func marks(t *model.Tensor, indexes []int32, n int, point []field.QM31) field.QM31 {
	if len(indexes) != n {
		return field.Zero // the values mean nothing: the prover has failed before
	}
	lead := len(t.Shape) - 1
	parts := poly.SplitAxes(t.Shape, point)
	rows := poly.OuterEq(t.Shape[:lead], parts[:lead])
	place, lift := parts[lead], field.FromInt64(t.Derived.Lift)
	sum, top := field.Zero, n/len(rows)
	for i, weight := range rows {
		own := indexes[i*top : (i+1)*top]
		v := field.Zero
		for _, x := range own[:top-1] {
			v = v.Add(poly.EqIndex(place, uint64(x)))
		}
		v = v.MulM31(lift).Sub(poly.MaskEval(place, uint64(own[top-1])))
		sum = sum.Add(v.Mul(weight))
	}
	return sum
}
