package quantise

import (
	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// virtual adds a sum of views, whose bounds follow from its sources'.
func (l *builder) virtual(name string, shape []int, def []model.Linear, frac int) model.TensorID {
	var lo, hi int64
	for i := range def {
		a, b := l.linearBounds(&def[i], shape)
		lo, hi = lo+a, hi+b
	}
	return l.add(model.Tensor{Name: name, Shape: shape, Kind: model.Virtual, Frac: frac, Min: lo, Max: hi, Def: def})
}

// virtualOf adds a linear expression as a virtual tensor; it may know tighter
// bounds than its terms do.
func (l *builder) virtualOf(name string, e *expr) model.TensorID {
	return l.add(model.Tensor{Name: name, Shape: e.shape, Kind: model.Virtual, Frac: e.frac, Min: e.min, Max: e.max, Def: e.acc.Linear})
}

// linearBounds bounds one term: a sum has as many entries as its summed
// indexes, and entries wired to nothing are Fill.
func (l *builder) linearBounds(t *model.Linear, out []int) (lo, hi int64) {
	src := &l.g.Tensors[t.Src]
	lo, hi = src.Min, src.Max
	if t.View != nil {
		n, partial := int64(1), false
		for i := range t.View.Groups {
			g := &t.View.Groups[i]
			for _, s := range g.Sum {
				n *= int64(s.Dim)
			}
			partial = partial || !bounds.Covers(g, out, src.Shape)
		}
		lo, hi = lo*n, hi*n
		if partial {
			lo, hi = min(lo, t.View.Fill), max(hi, t.View.Fill)
			if n > 1 {
				lo, hi = min(lo, 0), max(hi, 0)
			}
		}
	}
	if lo, hi = lo*t.Coef, hi*t.Coef; t.Coef < 0 {
		lo, hi = hi, lo
	}
	return lo, hi
}
