package bounds

import (
	"iter"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// form is a sum over an index space of this shape, with an integer for each index: a constant and multiples of views of tensors.
type form struct {
	a      *analysis
	shape  []int
	number int64
	terms  []model.Linear
	// unknown says that the constant or a coefficient does not fit within ±limit. Nothing is known of the sum then.
	unknown bool
}

// plus adds c times a term. If the form has a term with the same view of the same tensor, the two become one, so that they may cancel.
func (f *form) plus(c int64, t model.Linear) {
	for i := range f.terms {
		o := &f.terms[i]
		f.a.spend(1)
		if o.Src != t.Src || !f.a.sameView(o.View, t.View) {
			continue
		}
		coef, ok := exact(o.Coef, c, t.Coef)
		if o.Coef = coef; !ok {
			f.unknown = true
		} else if coef == 0 {
			f.terms = slices.Delete(f.terms, i, i+1)
		}
		return
	}
	coef, ok := exact(0, c, t.Coef)
	if t.Coef = coef; !ok {
		f.unknown = true
	} else if coef != 0 {
		f.terms = append(f.terms, t)
	}
}

// sum returns the form of a constant and terms.
func (a *analysis) sum(shape []int, number int64, terms []model.Linear) *form {
	f := &form{a: a, shape: shape, number: number, unknown: !known(number)}
	for _, t := range terms {
		f.plus(1, t)
	}
	return f
}

// less returns the form minus c times an accumulator, which must have no products.
func (f *form) less(c int64, acc *model.Acc) *form {
	number, ok := exact(f.number, -c, acc.Const)
	f.a.spend(len(f.terms))
	out := &form{f.a, f.shape, number, slices.Clone(f.terms), f.unknown || !ok || !known(c)}
	for _, t := range acc.Linear {
		out.plus(-c, t)
	}
	return out
}

// accumulator returns an interval of a step's accumulator.
func (a *analysis) accumulator(s *model.Step) Interval {
	if i, ok := a.chosen(s); ok {
		return i
	}
	all := a.form(a.sum(s.Shape, s.Acc.Const, s.Acc.Linear))
	known, taken := a.knownSums(s.Acc.Products, len(s.Shape))
	all = all.Add(known)
	for i := range s.Acc.Products {
		if !taken[i] {
			all = all.Add(a.product(&s.Acc.Products[i], s.Shape))
		}
	}
	return all
}

// chosen returns an interval of an accumulator that is l + c·d, entry by entry, with a tensor c whose entries are 0 or 1.
// Then each entry is one of l or one of l + d, in which terms of l and d may cancel. ok is false for other accumulators.
func (a *analysis) chosen(s *model.Step) (Interval, bool) {
	if len(s.Acc.Products) != 1 {
		return Interval{}, false
	}
	p := &s.Acc.Products[0]
	for _, pair := range [][2]model.TensorID{{p.A, p.B}, {p.B, p.A}} {
		d := &a.g.Tensors[pair[1]]
		all := model.Axes(len(s.Shape))
		same := slices.Equal(p.LabelsA, all) && slices.Equal(p.LabelsB, all) && slices.Equal(d.Shape, s.Shape)
		if !same || !a.tensor(pair[0]).within(Interval{0, 1}) {
			continue
		}
		without := a.sum(s.Shape, s.Acc.Const, s.Acc.Linear)
		with := a.sum(s.Shape, s.Acc.Const, s.Acc.Linear)
		if len(d.Def) > 0 {
			for _, t := range d.Def {
				with.plus(p.Coef, t)
			}
		} else {
			with.plus(p.Coef, model.Linear{Coef: 1, Src: pair[1]})
		}
		return a.form(without).hull(a.form(with)), true
	}
	return Interval{}, false
}

// form returns an interval of a form: that of its terms taken separately, or a narrower one if a
// term is the value of a look-up in a table that is linear in pieces.
func (a *analysis) form(f *form) Interval {
	all := a.separately(f)
	if f.unknown {
		return all
	}
	for i := range f.terms {
		t := &f.terms[i]
		if a.spent() {
			return everything
		}
		if made := a.made[t.Src]; t.View == nil && made != nil && made.Kind == model.StepLookup && made.Out == t.Src {
			all = all.and(a.inPieces(f, i, made))
		}
	}
	return all
}

// separately returns the sum of the intervals of a form's terms. It also looks along each axis: if the terms are not 0 only at some of the
// axis's indexes, as those of a concatenation, it adds up only the terms that are not 0 at the same index.
func (a *analysis) separately(f *form) Interval {
	if f.unknown || a.spent() {
		return everything
	}
	parts := make([]Interval, len(f.terms)) // by term: the interval of its coefficient times its view
	all := point(f.number)
	for i, t := range f.terms {
		in := &a.g.Tensors[t.Src]
		a.spend(1 + viewCost(t.View))
		parts[i] = Through(t.View, a.tensor(t.Src), f.shape, in.Shape).Scale(t.Coef)
		all = all.Add(parts[i])
	}
	if len(f.terms) < 2 {
		return all
	}
	if a.isBand(f) {
		return all.and(point(f.number).Add(Interval{0, 1}))
	}
	for axis := range f.shape {
		all = all.and(a.along(axis, f, parts))
	}
	return all
}

// isBand reports whether a form is a tensor that is 1 where i ≥ j + c, minus one that is 1 where i ≥ j + d, for offsets c ≤ d
// (model.AtLeast). Its entries are then 1 where c ≤ i − j < d, and 0 elsewhere.
func (a *analysis) isBand(f *form) bool {
	if len(f.terms) != 2 || f.terms[0].View != nil || f.terms[1].View != nil || f.terms[0].Coef != 1 || f.terms[1].Coef != -1 {
		return false
	}
	x, y := a.g.Tensors[f.terms[0].Src].Formula, a.g.Tensors[f.terms[1].Src].Formula
	return x != nil && y != nil && x.Kind == model.AtLeast && y.Kind == model.AtLeast && x.Offset <= y.Offset
}

// along returns an interval of a form: for each index of an axis it adds up the intervals of the terms that are not 0 there, and it returns
// the hull of these sums. The sum changes only where some term begins or ends.
func (a *analysis) along(axis int, f *form, parts []Interval) Interval {
	type span struct{ from, to int }
	spans := make([]span, len(f.terms))
	ends := []int{0}
	for i, t := range f.terms {
		spans[i] = span{0, f.shape[axis]}
		if t.View == nil || t.View.Fill == 0 {
			spans[i].from, spans[i].to = wired(t.View, axis, f.shape, a.g.Tensors[t.Src].Shape)
		}
		ends = append(ends, spans[i].from, spans[i].to)
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	a.spend(len(ends) * len(f.terms))
	var all Interval
	for n, at := range ends {
		if at >= f.shape[axis] {
			break
		}
		here := point(f.number)
		for i, s := range spans {
			if s.from <= at && at < s.to {
				here = here.Add(parts[i])
			}
		}
		if n == 0 {
			all = here
		}
		all = all.hull(here)
	}
	return all
}

// inPieces returns an interval of a form whose term i is the result of the look-up made. If that has no shift and its table is
// linear in pieces, the interval is the hull over the pieces. In a piece the result is slope·key + offset, and the key is the
// look-up's accumulator, whose terms may cancel with others of the form. It returns everything for other look-ups, and for
// high-bits tables, whose values are not linear in the key.
func (a *analysis) inPieces(f *form, i int, made *model.Step) Interval {
	t := &a.g.Tables[made.Table]
	if t.Kind != model.TablePiecewise || t.Drop != 0 || made.Shift != 0 || len(made.Acc.Products) != 0 {
		return everything
	}
	keys, ok := a.keys[made]
	if !ok {
		return everything
	}
	c := f.terms[i].Coef
	// The form is rest + c·(slope·key + offset). With rest = less + m·key there are three ways to bound rest + c·slope·key: separately;
	// as the form rest − (−c·slope)·key, in which terms cancel; and as less + (m + c·slope)·key.
	rest := &form{a, f.shape, f.number, slices.Delete(slices.Clone(f.terms), i, i+1), false}
	m := a.timesKey(rest, &made.Acc)
	apart, less := a.separately(rest), a.separately(rest.less(m, &made.Acc))
	all := nothing
	for p, here := range pieces(t, keys) {
		offset := point(times(c, p.Offset))
		slope, exactly := exact(0, c, p.Slope)
		value := apart.Add(here.Scale(slope))
		if both, ok := exact(m, c, p.Slope); ok && exactly {
			value = value.and(a.separately(rest.less(-slope, &made.Acc)))
			value = value.and(less.Add(here.Scale(both)))
		}
		all = all.hull(value.Add(offset))
	}
	return all
}

// pieces yields the pieces of a table that contain some of the keys, each with the interval of these keys.
func pieces(t *model.Table, keys Interval) iter.Seq2[model.Piece, Interval] {
	return func(yield func(model.Piece, Interval) bool) {
		from := t.Min
		for _, p := range t.Pieces {
			here := keys.and(Interval{from, t.Min + p.End - 1})
			from = t.Min + p.End
			if !here.empty() && !yield(p, here) {
				return
			}
		}
	}
}

// timesKey returns a multiple m for which subtracting m times the key of a look-up from a form cancels the first term of the key's
// accumulator, as far as the coefficients divide; 0 if the form does not have that term.
func (a *analysis) timesKey(f *form, key *model.Acc) (m int64) {
	if len(key.Linear) == 0 || key.Linear[0].Coef == 0 {
		return 0
	}
	first := &key.Linear[0]
	for _, t := range f.terms {
		if t.Src == first.Src && a.sameView(t.View, first.View) {
			m = t.Coef / first.Coef
		}
	}
	return m
}

// product returns an interval of a product in an accumulator. It is the number of terms of each sum times the interval of a term,
// or a narrower one if sums of the entries of an operand are known: certified sums of a fixed tensor, or sums of rows.
func (a *analysis) product(p *model.Product, out []int) Interval {
	x, y := a.tensor(p.A), a.tensor(p.B)
	n, one := int64(1), single(a.g, p, len(out), a.oneHot) // the number of terms that need not be 0, and a label along which one is
	for i, l := range p.LabelsA {
		if l >= len(out) && l != one {
			n = times(n, int64(a.g.Tensors[p.A].Shape[i]))
		}
	}
	all := x.Mul(y).Scale(n)
	summed := func(label int) bool { return label >= len(out) }
	for i, op := range operands(p) {
		other := [...]Interval{y, x}[i]
		if s, ok := SumOf(op.id, op.labels, len(out), one); ok {
			if parts, ok := a.c.Sums[s]; ok {
				all = all.and(parts.weigh(other))
			}
		}
		// The product sums along the last axis of the operand alone, whose rows have sums of magnitudes of at most most.
		if n := len(op.labels); n > 0 && summed(op.labels[n-1]) && !slices.ContainsFunc(op.labels[:n-1], summed) {
			if most, ok := a.rowSum(op.id); ok {
				all = all.and(SumBound{most, most, most}.weigh(other))
			}
		}
	}
	return all.Scale(p.Coef)
}

// weigh returns an interval of Σ w_i·x_i over weights w_i with these bounds, if every x_i is in the interval x.
func (p SumBound) weigh(x Interval) Interval {
	lo, hi := max(-x.Min, 0), max(x.Max, 0)
	return Interval{-p.of(hi, lo), p.of(lo, hi)}
}

// rowSum returns a bound on the sum of the magnitudes of the entries in each row along the last axis of a tensor. If the tensor is a view
// whose rows are rows of another one, that is the bound for the other one.
func (a *analysis) rowSum(id model.TensorID) (most int64, ok bool) {
	if most, ok = a.rowSums[id]; ok {
		return most, true
	}
	t := &a.g.Tensors[id]
	if t.Kind != model.Virtual || len(t.Def) != 1 || t.Def[0].Coef != 1 {
		return 0, false
	}
	src := t.Def[0].Src
	if v := t.Def[0].View; v != nil && (v.Fill != 0 || !keepsRows(v, t.Shape, a.g.Tensors[src].Shape)) {
		return 0, false
	}
	return a.rowSum(src)
}

// keepsRows reports whether every row along the last axis of a view is a row of its source, or 0: one group wires the
// last axis of the output to that of the source, index by index, and no group sums.
func keepsRows(v *model.View, out, in []int) bool {
	kept := false
	for i := range v.Groups {
		g := &v.Groups[i]
		if len(g.Sum) > 0 {
			return false
		}
		o, s := slices.Contains(g.Out, len(out)-1), slices.Contains(g.In, len(in)-1)
		if !o && !s {
			continue
		}
		if !o || !s || len(g.Out) != 1 || len(g.In) != 1 || out[g.Out[0]] != in[g.In[0]] ||
			g.Map != model.MapReshape && (g.Map != model.MapAffine || g.Base != 0 || g.Strides[0] != 1) {
			return false
		}
		kept = true
	}
	return kept
}
