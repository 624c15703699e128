package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// openMask is a constant mask whose last two axes have a free length: by formulas of
// its diagonals, on which alone it depends then, as the masks of texts that look back do
// and those of a window.
func (l *lowering) openMask(name string, whole *graph.Tensor, part, shape []int) (model.TensorID, []int) {
	labels, kept := fixed.BroadcastLabels(part, shape)
	d := l.memory.diagonals(whole)
	if len(kept) != 2 || d == nil {
		refuse.With("its mask %s of a free length is no band of diagonals", graph.Quote(name))
	}
	// Diagonal d has the entries (i, i + d).
	upTo := func(d int) model.TensorID {
		return l.Formula(name, kept, 0, &model.Formula{Kind: model.AtLeast, Offset: int64(-d)}, 0, 1)
	}
	n, m := whole.Shape[len(whole.Shape)-2], whole.Shape[len(whole.Shape)-1]
	switch {
	case d.Most == m-1:
		return l.Formula(name, kept, 0, &model.Formula{Kind: model.AtMost, Offset: int64(-d.Least)}, 0, 1), labels
	case d.Least == 1-n:
		return upTo(d.Most), labels
	}
	return l.VirtualOf(name, l.Of(upTo(d.Most)).Minus(l.Of(upTo(d.Least-1))).Within(0, 1)), labels
}

// diagonals returns the band that a mask is, nil if it is none.
func (w *Memory) diagonals(t *graph.Tensor) *fixed.Band {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fixed.Remember(&w.bands, t, func() *fixed.Band {
		r := len(t.Shape)
		if n, m := t.Shape[r-2], t.Shape[r-1]; n*m == t.Len() {
			return fixed.BandOf(n, m, func(at int) bool { return t.I64[at] != 0 })
		}
		return nil
	})
}

// softenMask replaces the huge negative numbers with which models mask scores before a
// Softmax, and which v is the sum with, by ones that are just far enough below the others,
// so that they do not set the scale: 10 below the least score, e^−10 of its weight. It
// sets the range that the masked scores v should have; below it they are clamped, which
// says nothing. Of secret numbers it is enough that some may be as small.
func (l *lowering) softenMask(v *value, values numbers, scores Range) numbers {
	const below = 10
	widest := scores.Abs()
	floor := float64(-2*widest) - below
	least := slices.Min(values.shown)
	if values.secret != nil {
		least = -values.most()
	}
	if c := l.consumer(v); c == nil || !IsSoftmax(c.Op) || least >= 4*floor {
		return values
	}
	most := math.Max(-4*floor, v.rng.Max+widest) // of what is left
	soft := madeOf(len(values.shown), most, func(from ...[]float64) []float64 {
		out := slices.Clone(from[0])
		for i, x := range out {
			if x < 4*floor {
				out[i] = floor
			}
		}
		return out
	}, values)
	v.unreported = true
	widest = math.Max(widest, (widest+below)/l.opts.Headroom)
	v.rng = Range{Min: -widest, Max: widest}
	return soft
}

// leavesSome reports whether a constant mask leaves an entry in each row of a text of any
// length: it is 1 on the diagonal.
func (l *lowering) leavesSome(name string) bool {
	whole, part := l.whole(name)
	if part == nil || len(whole.Shape) < 2 || whole.Shape[len(whole.Shape)-1] != whole.Shape[len(whole.Shape)-2] {
		return false
	}
	d := l.memory.diagonals(whole)
	return d != nil && d.Least <= 0 && d.Most >= 0
}

// maskOf returns a mask of zeros and ones for scores of a shape, with its labels.
func (l *lowering) maskOf(name string, shape []int) (model.TensorID, []int) {
	if c, part := l.whole(name); part != nil {
		return l.openMask(name, c, part, shape)
	} else if c != nil {
		labels, kept := fixed.BroadcastLabels(c.Shape, shape)
		return l.Mask(name, kept, labels, func(i int) bool { return c.I64[i] != 0 })
	}
	id := l.tensor(l.values[name])
	if t := &l.Circuit.Tensors[id]; t.Frac != 0 || t.Min < 0 || t.Max > 1 {
		refuse.With("its mask %s may be other than 0 and 1", graph.Quote(name))
	}
	return l.Squeezed(id, shape)
}
