package reduce

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// formula evaluates the MLE of a tensor by formula, which is zero beyond its
// dimensions.
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
