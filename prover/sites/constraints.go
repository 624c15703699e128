package sites

import (
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/plan"
	"github.com/prove-model/prove-model/prover/poly"
)

// lookUps proves all look-ups of a chunk with one LogUp tree, after bits of work,
// and ties the tree's end to the columns of every block.
func (s *Session) lookUps(bits int) {
	s.p.grind(bits)
	l := s.f.Leaves
	l.Alpha, l.Beta = s.p.sponge().Challenge(), s.p.sponge().Challenge()
	numVars := model.Log2Ceil(l.Size)
	end := s.p.logup(l, numVars)
	if s.p.failed() {
		return
	}
	point := end.Point
	s.drawn[plan.LookUpPoint] = point
	s.find(s.f.RowNodes)
	if s.p.failed() {
		return
	}
	wantNum, wantDen := field.Zero, field.Zero
	beta2 := l.Beta.Square()
	for i := range l.Blocks {
		b := &l.Blocks[i]
		rho := point[numVars-b.Bits:]
		weight := poly.EqIndex(point[:numVars-b.Bits], uint64(b.Offset>>b.Bits))
		rowNum, key, val := s.row(b, &s.f.Rows[i], rho)
		row := l.Alpha.Sub(key).Sub(l.Beta.Mul(val)).Sub(beta2.MulM31(backend.Tag(b.Table)))
		wantNum = wantNum.Add(weight.Mul(rowNum))
		wantDen = wantDen.Add(weight.Mul(row))
	}
	// The rest of the tree is filled with the fraction 0/1.
	if l.Size < 1<<numVars {
		wantDen = wantDen.Add(field.One.Sub(poly.MaskEval(point, uint64(l.Size))))
	}
	s.p.check(end.Num == wantNum, "look-ups: numerators do not match the multiplicities")
	s.p.check(end.Den == wantDen, "look-ups: denominators do not match the columns")
}

// row returns a block's numerator, key and value columns at ρ.
func (s *Session) row(b *backend.LeafBlock, r *plan.Row, rho []field.QM31) (num, key, val field.QM31) {
	if r.Out != plan.None {
		val = s.values[r.Out]
	}
	if b.Step < 0 {
		t := &s.g.Tables[b.Table]
		num = s.values[r.Num].Neg()
		key = poly.IndexMaskEval(rho, 1<<len(rho)).AddM31(field.FromInt64(t.Min))
		if t.Kind == model.TablePiecewise {
			val = piecewise(t, rho)
		}
		return num, key, val
	}
	st := &s.g.Steps[b.Step]
	num = poly.TensorMask(st.Shape, poly.SplitAxes(st.Shape, rho))
	key = s.values[r.Acc]
	if r.Lo != plan.None {
		// acc = 2^shift·key + lo. The division is exact in the field: lo is
		// forced into [0, 2^shift) by its own look-up, and both sides are
		// integers below the bound.
		inv := field.M31(1).Div2Exp(uint(st.Shift))
		key = key.Sub(s.values[r.Lo]).MulM31(inv)
	}
	return num, key, val
}

// piecewise evaluates the MLE of a piecewise-linear value column.
func piecewise(t *model.Table, rho []field.QM31) field.QM31 {
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

// equations checks the chunk's exact and zero steps at one random point, or ties
// the public outputs to the graph's output tensors there: a tensor with n
// variables uses the last n coordinates.
func (s *Session) equations() {
	if s.p.failed() || len(s.f.Equations) == 0 {
		return
	}
	tau := s.p.sponge().Challenges(s.f.Tau)
	s.drawn[plan.EquationPoint] = tau
	s.find(s.f.EquationNodes)
	for i, e := range s.f.Equations {
		if s.p.failed() {
			return
		}
		if e.Step < 0 {
			t := &s.g.Tensors[s.g.Outputs[i]]
			rho := tau[len(tau)-model.Vars(t.Shape):]
			s.p.check(s.values[e.Left] == poly.EvalTensor(t.Shape, s.public.Outputs[i], rho), "output %d is not the model's", i)
			continue
		}
		v := s.values[e.Left]
		if e.Right != plan.None {
			v = v.Sub(s.values[e.Right])
		}
		s.p.check(v.IsZero(), "%s: equation does not hold", s.g.Steps[e.Step].Name)
	}
}
