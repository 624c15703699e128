package sites

import (
	"sort"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
)

// Chunk reduces the constraints of a chunk's steps. grindBits of work come
// before the look-up challenges.
func (s *Session) Chunk(chunk, grindBits int) {
	if leaves := NewLeaves(s.g, chunk); len(leaves.Blocks) > 0 {
		s.p.grind(grindBits)
		leaves.Alpha, leaves.Beta = s.p.sponge().Challenge(), s.p.sponge().Challenge()
		s.lookups(leaves)
	}
	s.exact(chunk)
	s.reduce()
}

// NewLeaves lays out the look-up tree of a chunk: one block for each lookup
// step and for each table in use, by decreasing size, so that every block is
// aligned. Alpha and Beta are left zero.
func NewLeaves(g *model.Graph, chunk int) backend.Leaves {
	var l backend.Leaves
	for i := range g.Steps {
		if st := &g.Steps[i]; st.Kind == model.StepLookup && st.Chunk == chunk {
			l.Blocks = append(l.Blocks, backend.LeafBlock{
				Bits: model.Vars(st.Shape), Step: i, Table: st.Table, Mult: model.None,
			})
		}
	}
	for _, m := range g.Mults {
		if m.Chunk == chunk {
			l.Blocks = append(l.Blocks, backend.LeafBlock{
				Bits: g.Tables[m.Table].Bits, Step: -1, Table: m.Table, Mult: m.Tensor,
			})
		}
	}
	sort.SliceStable(l.Blocks, func(i, j int) bool { return l.Blocks[i].Bits > l.Blocks[j].Bits })
	for i := range l.Blocks {
		l.Blocks[i].Offset = l.Size
		l.Size += 1 << l.Blocks[i].Bits
	}
	return l
}

// lookups proves all look-ups of a chunk with one LogUp tree and ties the
// tree's end to the columns of every block.
func (s *Session) lookups(l backend.Leaves) {
	numVars := model.Log2Ceil(l.Size)
	end := s.p.logup(l, numVars)
	if s.p.failed() {
		return
	}
	point := end.Point
	wantNum, wantDen := field.Zero, field.Zero
	beta2 := l.Beta.Square()
	for _, b := range l.Blocks {
		rho := point[numVars-b.Bits:]
		weight := poly.EqIndex(point[:numVars-b.Bits], uint64(b.Offset>>b.Bits))
		rowNum, key, val := s.row(&b, rho)
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
func (s *Session) row(b *backend.LeafBlock, rho []field.QM31) (num, key, val field.QM31) {
	if b.Step < 0 {
		t := &s.g.Tables[b.Table]
		num = s.eval(b.Mult, rho).Neg()
		key = poly.IndexMaskEval(rho, 1<<len(rho)).AddM31(field.FromInt64(t.Min))
		switch t.Kind {
		case model.TablePiecewise:
			val = piecewise(t, rho)
		case model.TableFunc:
			val = s.eval(t.Values, rho)
		}
		return num, key, val
	}
	st := &s.g.Steps[b.Step]
	num = poly.TensorMask(st.Shape, poly.SplitAxes(st.Shape, rho))
	key = s.acc(&st.Acc, st.Shape, rho)
	if st.Lo != model.None {
		// acc = 2^shift·key + lo. The division is exact in the field: lo is
		// forced into [0, 2^shift) by its own look-up, and both sides are
		// integers below the bound.
		inv := field.M31(1).Div2Exp(uint(st.Shift))
		key = key.Sub(s.eval(st.Lo, rho)).MulM31(inv)
	}
	if st.Out != model.None {
		val = s.eval(st.Out, rho)
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

// exact checks the chunk's exact and zero steps at one random point: a step
// with n variables uses the last n coordinates.
func (s *Session) exact(chunk int) {
	most, any := 0, false
	for i := range s.g.Steps {
		if st := &s.g.Steps[i]; isExact(st, chunk) {
			any = true
			most = max(most, model.Vars(st.Shape))
		}
	}
	if !any {
		return
	}
	tau := s.p.sponge().Challenges(most)
	for i := range s.g.Steps {
		st := &s.g.Steps[i]
		if !isExact(st, chunk) {
			continue
		}
		rho := tau[most-model.Vars(st.Shape):]
		v := s.acc(&st.Acc, st.Shape, rho)
		if st.Kind == model.StepExact {
			v = v.Sub(s.eval(st.Out, rho))
		}
		s.p.check(v.IsZero(), "%s: equation does not hold", st.Name)
	}
}

func isExact(st *model.Step, chunk int) bool {
	return st.Chunk == chunk && (st.Kind == model.StepExact || st.Kind == model.StepZero)
}

// Outputs ties the public outputs to the graph's output tensors at a random
// point. values returns the claimed values of output i.
func (s *Session) Outputs(values func(i int) []int32) {
	most := 0
	for _, id := range s.g.Outputs {
		most = max(most, model.Vars(s.g.Tensors[id].Shape))
	}
	tau := s.p.sponge().Challenges(most)
	for i, id := range s.g.Outputs {
		t := &s.g.Tensors[id]
		rho := tau[most-model.Vars(t.Shape):]
		s.p.check(s.eval(id, rho) == poly.EvalTensor(t.Shape, values(i), rho), "output %d is not the model's", i)
	}
	s.reduce()
}
