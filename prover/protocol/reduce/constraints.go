package reduce

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/colsum"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// lookUps proves all look-ups of a chunk with one LogUp tree, after a proof of work of the
// given bits. It then checks the end of the tree against the columns of every step and table
// (docs/protocol.md, "Look-ups"; the names num, den, w, base and row are those of its steps 4 and 5).
func (s *Session) lookUps(bits int) {
	s.p.grind(bits)
	l := s.f.Leaves
	l.Alpha, l.Beta = s.p.sponge().Challenge(), s.p.sponge().Challenge()
	numVars := model.Log2Ceil(l.Size)
	end := s.p.logup(l, numVars)
	if s.p.failed() {
		return
	}
	s.drawn[plan.LookUpPoint] = end.Point
	s.find(s.f.RowNodes)
	if s.p.failed() {
		return
	}
	// num and den add up what the tables' and steps' columns give for the end of the tree, except
	// for the columns of steps that are cut. base is α − β²·tag.
	prefixes := poly.NewPrefixes(end.Point)
	var num, den transcript.Form
	base := func(t model.TableID) field.QM31 { return l.Alpha.Sub(l.Beta.Square().MulM31(backend.Tag(t))) }
	places := colsum.Places(l.Steps, prefixes)
	for i := range l.Steps {
		b, w := &l.Steps[i], field.Zero
		for _, p := range places[i] {
			w = w.Add(p)
		}
		row := transcript.Known(base(b.Table))
		if !b.IsCut() {
			row = row.Sub(s.column(b.Step, &s.f.Steps[i], l.Beta))
		}
		num, den = num.AddKnown(w), den.Add(row.Mul(w))
	}
	for i := range l.Tables {
		b := &l.Tables[i]
		w := prefixes.At(numVars-b.Block.Bits, uint64(b.Block.Offset>>b.Block.Bits))
		key, val := s.tableRow(b.Table, &s.f.Tables[i], end.Point[numVars-b.Block.Bits:])
		num = num.Sub(s.values[s.f.Tables[i].Num].Mul(w))
		den = den.AddKnown(w.Mul(base(b.Table).Sub(key))).Sub(val.Mul(w.Mul(l.Beta)))
	}
	// The rest of the tree is filled with the fraction 0/1.
	if l.Size < 1<<numVars {
		den = den.AddKnown(field.One.Sub(poly.MaskEval(end.Point, uint64(l.Size))))
	}
	s.p.zero(end.Num.Sub(num), func() string { return "look-ups: numerators do not match the multiplicities" })
	if s.f.JoinVars > 0 {
		s.joined(&l, end.Point, places, den.Sub(end.Den))
	} else {
		s.p.zero(end.Den.Sub(den), func() string { return "look-ups: denominators do not match the columns" })
	}
}

// joined proves that the columns of the steps that are cut add up to claim, the T of
// docs/protocol.md, "Look-ups", 5 and 6 (package colsum). The tree ends at z. places is
// colsum.Places of its steps.
func (s *Session) joined(l *backend.Leaves, z []field.QM31, places [][]field.QM31, claim transcript.Form) {
	end := s.p.join(s.g, l, z, s.f.JoinVars, claim)
	if s.p.failed() {
		return
	}
	s.drawn[plan.JoinPoint] = end.Point
	s.find(s.f.JoinNodes)
	if s.p.failed() {
		return
	}
	var sum transcript.Form
	weights := colsum.NewWeights(z, end.Point)
	for i := range l.Steps {
		b := &l.Steps[i]
		if !b.IsCut() {
			continue
		}
		shape := s.g.Steps[b.Step].Shape
		sum = sum.Add(s.column(b.Step, &s.f.Steps[i], l.Beta).Mul(weights.Of(b, shape, places[i])))
	}
	s.p.zero(sum.Sub(end.Value), func() string { return "look-ups: denominators do not match the columns of steps in several blocks" })
}

// column returns key + β·out of a look-up step at the point at which its row r has been
// evaluated.
func (s *Session) column(step int, r *plan.Row, beta field.QM31) transcript.Form {
	key := s.values[r.Acc]
	if r.Lo != plan.None {
		// acc = 2^shift·key + lo, so key = (acc − lo)/2^shift. In the field this is the key of
		// the integers: another look-up forces lo into [0, 2^shift), and both sides of the
		// equation are integers below the bound.
		inv := field.M31(1).Div2Exp(uint(s.g.Steps[step].Shift))
		key = key.Sub(s.values[r.Lo]).MulM31(inv)
	}
	if r.Out != plan.None {
		key = key.Add(s.values[r.Out].Mul(beta))
	}
	return key
}

// tableRow returns the MLEs of a table's key column, which is Min, Min + 1, …, and of its value
// column at ρ. r has the value column of a function table; a table without values has none.
func (s *Session) tableRow(id model.TableID, r *plan.Row, rho []field.QM31) (key field.QM31, val transcript.Form) {
	t := &s.g.Tables[id]
	key = poly.IndexMaskEval(rho, 1<<len(rho)).AddM31(field.FromInt64(t.Min))
	switch {
	case r.Out != plan.None:
		val = s.values[r.Out]
	case t.Kind == model.TablePiecewise:
		val = transcript.Known(piecewise(t, rho))
	}
	return key, val
}

// saturatedPoints returns the points at which a table's multiplicities are evaluated for the
// sum over its saturated rows; none if the rows make many blocks. The sum over a block of 2^n
// rows is 2^n times the MLE at the point whose n coordinates inside the block are 1/2.
func saturatedPoints(t *model.Table) [][]field.QM31 {
	blocks := t.SaturatedBlocks()
	if len(blocks) >= plan.ManyBlocks {
		return nil
	}
	points := make([][]field.QM31, len(blocks))
	for k, b := range blocks {
		points[k] = make([]field.QM31, t.Bits)
		for i := range points[k] {
			switch at := t.Bits - 1 - i; { // the bit of the row's number that coordinate i belongs to
			case at < b.Bits:
				points[k][i] = field.FromM31(field.M31(1).Div2Exp(1))
			default:
				points[k][i] = field.FromM31(field.M31(b.Start >> at & 1))
			}
		}
	}
	return points
}

// saturated returns the sum of the multiplicities of a table's saturated rows. Only the prover
// calls it. With few blocks it uses the evaluations at saturatedPoints, already computed.
func (s *Session) saturated(mult model.TensorID, t *model.Table) field.M31 {
	blocks := t.SaturatedBlocks()
	if len(blocks) >= plan.ManyBlocks {
		return on(s.p, func() (field.M31, error) { return s.p.b.Total(s.p.ctx, mult, t.Saturated) })
	}
	sum := field.Zero
	for _, b := range blocks {
		sum = sum.Add(s.take(&s.computed).MulM31(field.M31(1 << b.Bits)))
	}
	return sum.C0.A0
}

// piecewise evaluates the MLE of a piecewise-linear value column at ρ: for each piece, which is
// linear in the row's number, from the MLEs of the indicator of its rows and of number times
// indicator. The values of a high-bits table do not depend on the last Drop variables, those of
// the low bits of the key, so its MLE is that of a shorter column at the other variables.
func piecewise(t *model.Table, rho []field.QM31) field.QM31 {
	rho = rho[:t.Bits-t.Drop]
	v := field.Zero
	at := int64(0)
	for _, p := range t.Pieces {
		ones := poly.RangeEval(rho, uint64(at), uint64(p.End))
		v = v.Add(ones.MulM31(field.FromInt64(p.Offset + p.Slope*t.Min)))
		if p.Slope != 0 {
			index := poly.IndexRangeEval(rho, uint64(at), uint64(p.End))
			v = v.Add(index.MulM31(field.FromInt64(p.Slope)))
		}
		at = p.End
	}
	return v
}

// equations checks the chunk's exact and zero steps at one random point τ, or, in the
// sub-transcript of the outputs, that the public outputs equal the graph's output tensors there.
// A tensor with n variables uses the last n coordinates of τ.
func (s *Session) equations() {
	if s.p.failed() || len(s.f.Equations) == 0 {
		return
	}
	tau := s.p.sponge().Challenges(s.f.Tau)
	s.drawn[plan.EquationPoint] = tau
	s.find(s.f.EquationNodes)
	for _, e := range s.f.Equations {
		if s.p.failed() {
			return
		}
		if e.Step < 0 && s.p.dry {
			continue
		}
		if e.Step < 0 {
			t := &s.g.Tensors[s.g.Outputs[e.Output]]
			rho := tau[len(tau)-model.Vars(t.Shape):]
			s.p.zero(s.values[e.Left].AddKnown(poly.EvalTensor(t.Shape, s.public.Outputs[e.Output], rho).Neg()), func() string {
				return fmt.Sprintf("output %d is not the model's", e.Output)
			})
			continue
		}
		v := s.values[e.Left]
		if e.Right != plan.None {
			v = v.Sub(s.values[e.Right])
		}
		s.p.zero(v, func() string { return s.g.Steps[e.Step].Name + ": equation does not hold" })
	}
}
