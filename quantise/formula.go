package quantise

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Constants that are functions of their indexes, such as causal masks, positions and
// identity matrices, are not committed to: the verifier evaluates them.

// matrixFormula returns the formula of a matrix that has, row by row, one value where
// wanted is true and another one elsewhere; nil if it has none.
func matrixFormula(n, m int, wanted func(at int) bool) *model.Formula {
	if n < 2 || m < 2 {
		return nil
	}
	// The diagonals j − i of the entries of either kind.
	type span struct{ least, most, count int }
	in, out := span{m, -n, 0}, span{m, -n, 0}
	for i := range n {
		for j := range m {
			s := &out
			if wanted(i*m + j) {
				s = &in
			}
			s.least, s.most, s.count = min(s.least, j-i), max(s.most, j-i), s.count+1
		}
		if in.most >= out.least && out.most >= in.least && in.least != in.most {
			return nil // on both sides of each other, and more than a diagonal
		}
	}
	switch {
	case in.count == 0 || out.count == 0:
		return nil
	case in.least > out.most: // i ≤ j + offset
		return &model.Formula{Kind: model.AtMost, Offset: int64(-in.least)}
	case in.most < out.least:
		return &model.Formula{Kind: model.AtLeast, Offset: int64(-in.most)}
	case in.least == in.most && in.count == min(n, m-in.least)-max(0, -in.least):
		return &model.Formula{Kind: model.Equal, Offset: int64(-in.least)}
	}
	return nil
}

// mask is a constant of zeros and ones for the axes of an accumulator with these
// labels: by formula if there is one, without the axes along which it repeats itself.
// It returns the labels of its axes.
func (l *builder) mask(name string, shape, labels []int, one func(at int) bool) (model.TensorID, []int) {
	if r := len(shape); r >= 2 {
		n, m := shape[r-2], shape[r-1]
		if f := matrixFormula(n, m, one); f != nil && repeats(n*m, model.Size(shape), one) {
			return l.formula(name, shape[r-2:], 0, f, 0, 1), labels[r-2:]
		}
	}
	return l.fixed(name, shape, 0, 0, 1, func(dst []int32, from int) {
		for i := range dst {
			dst[i] = 0
			if one(from + i) {
				dst[i] = 1
			}
		}
	}), labels
}

// repeats reports whether all of the blocks of n entries are as the first one.
func repeats(n, size int, one func(at int) bool) bool {
	for i := n; i < size; i++ {
		if one(i) != one(i%n) {
			return false
		}
	}
	return true
}

// formula adds a tensor by formula.
func (l *builder) formula(name string, shape []int, frac int, f *model.Formula, lo, hi int64) model.TensorID {
	return l.add(model.Tensor{Name: name, Shape: shape, Kind: model.ByFormula, Frac: frac, Formula: f, Min: lo, Max: hi})
}

// leastFormula is the size from which on a constant may be a formula: of smaller ones
// anything is.
const leastFormula = 16

// byFormula adds a constant of the given values, rounded to frac, as a formula or a
// multiple of one, if it is that.
func (l *builder) byFormula(name string, shape []int, values []float64, frac int) (id model.TensorID, ok bool) {
	scale := pow2(frac)
	at := func(i int) int64 { return int64(math.Round(values[i] * scale)) }
	if len(values) < leastFormula {
		return 0, false
	}
	switch len(shape) {
	case 1:
		f := &model.Formula{Kind: model.Progression, Offset: at(0), Step: at(1) - at(0)}
		for i := range values {
			if f.Step == 0 || at(i) != f.Offset+int64(i)*f.Step {
				return 0, false
			}
		}
		last := at(len(values) - 1)
		return l.formula(name, shape, frac, f, min(f.Offset, last), max(f.Offset, last)), true
	case 2:
		x := int64(0)
		for i := range values {
			if y := at(i); y != 0 && x != 0 && y != x {
				return 0, false
			} else if y != 0 {
				x = y
			}
		}
		f := matrixFormula(shape[0], shape[1], func(i int) bool { return at(i) != 0 })
		if f == nil {
			return 0, false
		}
		id := l.formula(name, shape, 0, f, 0, 1)
		if x == 1 && frac == 0 {
			return id, true
		}
		return l.add(model.Tensor{Name: name, Shape: shape, Kind: model.Virtual, Frac: frac, Min: min(x, 0), Max: max(x, 0),
			Def: []model.Linear{{Coef: x, Src: id}}}), true
	}
	return 0, false
}

// openMask is a constant mask whose last two axes have a free length: by formulas of
// its diagonals, on which alone it depends then, as the masks of texts that look back do
// and those of a window.
func (l *lowering) openMask(name string, whole *graph.Tensor, part, shape []int) (model.TensorID, []int) {
	labels, kept := broadcastLabels(part, shape)
	least, most, ok := l.stats.diagonals(whole)
	if r := len(kept); r != 2 || !ok {
		refuse("its mask %s of a free length is no band of diagonals", graph.Quote(name))
	}
	// Diagonal d has the entries (i, i + d).
	upTo := func(d int) model.TensorID {
		return l.formula(name, kept, 0, &model.Formula{Kind: model.AtLeast, Offset: int64(-d)}, 0, 1)
	}
	n, m := whole.Shape[len(whole.Shape)-2], whole.Shape[len(whole.Shape)-1]
	switch {
	case most == m-1:
		return l.formula(name, kept, 0, &model.Formula{Kind: model.AtMost, Offset: int64(-least)}, 0, 1), labels
	case least == 1-n:
		return upTo(most), labels
	}
	return l.add(model.Tensor{Name: name, Shape: kept, Kind: model.Virtual, Max: 1,
		Def: []model.Linear{{Coef: 1, Src: upTo(most)}, {Coef: -1, Src: upTo(least - 1)}}}), labels
}

// diagonals returns the first and the last of the diagonals that a matrix of zeros and
// ones is 1 on; ok is false if these are not all in between, or none.
func (w *weightStats) diagonals(t *graph.Tensor) (least, most int, ok bool) {
	if d, known := w.bands[t]; known {
		return d.least, d.most, d.ok
	}
	r := len(t.Shape)
	n, m := t.Shape[r-2], t.Shape[r-1]
	least, most, ok = m, -n, n*m == t.Len()
	for at, x := range t.I64[:min(n*m, t.Len())] {
		if d := at%m - at/m; x != 0 {
			least, most = min(least, d), max(most, d)
		}
	}
	for at, x := range t.I64[:min(n*m, t.Len())] {
		d := at%m - at/m
		ok = ok && (x != 0) == (d >= least && d <= most)
	}
	ok = ok && least <= most
	if w.bands == nil {
		w.bands = map[*graph.Tensor]band{}
	}
	w.bands[t] = band{least, most, ok}
	return least, most, ok
}

// band is what is known of the diagonals of a mask.
type band struct {
	least, most int
	ok          bool
}
