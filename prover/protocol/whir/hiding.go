package whir

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// A hiding opening (docs/protocol.md, "Hiding openings") differs from a plain one in its first
// level alone.
//
//   - Rows of trees that hide have tails. The table row that slots make has one too, made of the
//     slots' tails in the same order; the folded row is of one variable more, and its tail is the
//     half where that variable is 1. The functional is zero there.
//   - Rows of the table that are random and that no term touches (soundness.Masks of them) make the
//     folded row, with its tail, uniform.
//   - The messages of the rounds over row variables are sent less pads. These are the first values
//     of the auxiliary row, whose other values are random: with the pads p_j and their coefficients
//     w_j in the running claim, Σ f·Q − Σ w_j·p_j is what the verifier knows.
//   - One more round proves that sum, as Σ f·Q + Σ A·(−u). Here A is the auxiliary row, and u has
//     the coefficients w_j as a functional on A. The round's variable is 0 for f and Q and 1 for A
//     and −u. Bound to r it leaves the row (1−r)·f + r·A, which is what level 1 commits to. From
//     there on nothing is hidden.

// firstHidden is opener.first for a hiding opening: it sends the rounds over the row variables less
// their pads, and then the round that binds the folded row and the auxiliary row.
func (o *opener) firstHidden() rowWeights {
	l := o.s.params.Levels[0]
	values := must.Get(o.passes.Auxiliary(o.ctx, soundness.PadLimbs*l.FoldVars))
	point := make([]field.QM31, l.FoldVars)
	for i := range point {
		s := must.Get(o.passes.Round(o.ctx))
		zero, top := padPair(values[soundness.PadLimbs*i:])
		point[i] = o.round(Sums{s.Zero.Sub(zero), s.Top.Sub(top)}, l.FoldGrind)
		must.OK(o.passes.Bind(o.ctx, point[i]))
	}
	r := o.round(must.Get(o.passes.AuxiliaryRound(o.ctx, padFunctional(point))), l.FoldGrind)
	must.OK(o.passes.BindAuxiliary(o.ctx, r))
	return rowWeights{table: poly.EqTable(point)}.withAuxiliary(r)
}

// padPair returns the two pads of a round, those of Sums.Zero and Sums.Top, from their limbs.
func padPair(v []field.M31) (zero, top field.QM31) {
	return field.NewQM31(v[0], v[1], v[2], v[3]), field.NewQM31(v[4], v[5], v[6], v[7])
}

// withAuxiliary returns the weights of the row (1−r)·(what the table folds to) + r·(the auxiliary
// row).
func (w rowWeights) withAuxiliary(r field.QM31) rowWeights {
	for i, v := range w.table {
		w.table[i] = v.Mul(field.One.Sub(r))
	}
	return rowWeights{w.table, r}
}

// padWeights returns the coefficients of the pads in the claim after rounds at these challenges.
// In each round the prover sends z − pad and t − pad in place of z and t. From the claim c, the
// next claim is z + r·(c − 2z − t) + r²·t, so the pads enter it with these weights, two a round.
func padWeights(point []field.QM31) []field.QM31 {
	w := make([]field.QM31, 2*len(point))
	for i, r := range point {
		for j := range w[:2*i] {
			w[j] = w[j].Mul(r)
		}
		w[2*i], w[2*i+1] = field.One.Sub(r.Double()), r.Square().Sub(r)
	}
	return w
}

// padFunctional returns u, the coefficients of the limbs of the pads, after rounds at these
// challenges: w_j·(1, i, u, iu) for pad j (docs/protocol.md, "Hiding openings").
func padFunctional(point []field.QM31) []field.QM31 {
	weights := padWeights(point)
	u := make([]field.QM31, 0, limbs*len(weights))
	for _, w := range weights {
		for _, b := range padBasis {
			u = append(u, w.Mul(b))
		}
	}
	return u
}

// padBasis is the basis of K over F that limbs are in.
var padBasis = [limbs]field.QM31{field.NewQM31(1, 0, 0, 0), field.NewQM31(0, 1, 0, 0), field.NewQM31(0, 0, 1, 0), field.NewQM31(0, 0, 0, 1)}

// evalFunctional returns the MLE of the functional at the point of all rounds. In a plain opening
// it is Q~. In a hiding one the point has two coordinates more behind those of the rows: r binds
// the folded and the auxiliary row, and top says whether an index is of the values (0) or of
// the tail (1), where the functional is zero. So it is (1 − top)·((1 − r)·Q~ − r·u~).
func (s *statement) evalFunctional(point []field.QM31) (field.QM31, error) {
	if s.params.TailLog == 0 {
		return s.evalTerms(point)
	}
	k := s.params.Levels[0].FoldVars
	rows, r, top, columns := point[:k:k], point[k], point[k+1], point[k+2:]
	q, err := s.evalTerms(append(rows, columns...))
	q = q.Mul(field.One.Sub(r)).Sub(r.Mul(evalPrefix(padFunctional(rows), columns)))
	return q.Mul(field.One.Sub(top)), err
}

// evalPrefix returns the MLE at a point of a table that begins with the given values and is zero
// behind them.
func evalPrefix(values, point []field.QM31) field.QM31 {
	low := 0
	for 1<<low < len(values) {
		low++
	}
	cut := len(point) - low
	e := field.Dot(values, poly.EqTable(point[cut:])[:len(values)])
	for _, c := range point[:cut] {
		e = e.Mul(field.One.Sub(c))
	}
	return e
}

// checkTails reports tails and auxiliary rows that do not fit the parameters.
func (s *statement) checkTails() error {
	auxiliary := 0
	if first := s.params.Levels[0]; s.params.TailLog > 0 && soundness.PadLimbs*first.FoldVars > 1<<first.RowVars {
		return fmt.Errorf("whir: the pads of %d rounds do not fit into a row of 2^%d values", first.FoldVars, first.RowVars)
	}
	for i := range s.layouts {
		l := &s.layouts[i]
		if s.params.TailLog == 0 {
			if l.Salted() || l.Auxiliary {
				return fmt.Errorf("whir: tree %d hides, the opening does not", i)
			}
			continue
		}
		for k, g := range l.Groups {
			if uint64(g.Tail) > soundness.Budget(l.RowVars, s.params.TailLog) {
				return fmt.Errorf("whir: tree %d, group %d: tails of %d elements are more than a 2^%d-th of rows of 2^%d values",
					i, k, g.Tail, s.params.TailLog, l.RowVars)
			}
		}
		if !l.Auxiliary {
			continue
		}
		if n := l.Groups[len(l.Groups)-1].Rows; n != 1<<s.shift(i) || !l.Salted() {
			return fmt.Errorf("whir: tree %d has %d rows for the auxiliary row of the table, want 2^%d, with tails", i, n, s.shift(i))
		}
		auxiliary++
	}
	if s.params.TailLog > 0 && auxiliary != 1 {
		return fmt.Errorf("whir: a hiding opening with %d auxiliary rows", auxiliary)
	}
	return nil
}

// absorbTails absorbs what the statement of a hiding opening has and that of a plain one has not:
// TailLog, the length of every group's tails, and which tree has the auxiliary row.
func (s *statement) absorbTails(t *transcript.Sponge) {
	if s.params.TailLog == 0 {
		return
	}
	t.AbsorbUint64(uint64(s.params.TailLog))
	for i := range s.layouts {
		l := &s.layouts[i]
		for _, g := range l.Groups {
			t.AbsorbUint64(uint64(g.Tail))
		}
		auxiliary := uint64(0)
		if l.Auxiliary {
			auxiliary = 1
		}
		t.AbsorbUint64(auxiliary)
	}
}
