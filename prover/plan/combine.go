package plan

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/whir"
)

// Claim says that the MLE of a committed tensor has a value at a point, or, of the
// multiplicities of a table, that those of its saturated rows add up to the value.
type Claim struct {
	Tensor    model.TensorID
	Point     []field.QM31
	Value     field.QM31
	Saturated *model.Table // in place of Point
}

// half is 1/2. At points of halves every eq has the same value.
var half = field.FromM31(field.M31(1).Div2Exp(1))

// saturated appends power times the sum of a tensor's saturated rows: a vector whose
// stack holds it as one block.
func (at *place) saturated(terms []whir.Term, c *Claim, power field.QM31) []whir.Term {
	first := at.first + at.stack.Blocks[at.stack.ByTensor[c.Tensor][0]].Offset
	for _, b := range c.Saturated.SaturatedBlocks() {
		t := whir.Term{Coef: power.MulM31(field.M31(1 << b.Bits)), Tree: at.tree, Offset: first + b.Start, Point: make([]field.QM31, b.Bits)}
		for i := range t.Point {
			t.Point[i] = half
		}
		terms = append(terms, t)
	}
	return terms
}

// Combine joins claims on committed tensors with powers of zeta into one
// claim Σ Table(x)·Q(x) = value over all trees: the MLE of a tensor is the sum over
// its blocks of eq(prefix)·Block~. Behind them come the claims that the unused ends
// of the witness's rows are zero, at the last coordinates of tau, which has TailVars
// (docs/protocol.md, "Openings").
func (p *Plan) Combine(claims []Claim, tau []field.QM31, zeta field.QM31) (terms []whir.Term, value field.QM31) {
	power := field.One
	blocks, coords := 0, 0
	for i := range claims {
		if c := &claims[i]; c.Saturated == nil {
			n := len(p.places[p.placeOf[c.Tensor]].stack.ByTensor[c.Tensor])
			blocks, coords = blocks+n, coords+n*len(c.Point)
		}
	}
	terms = make([]whir.Term, 0, blocks)
	room := make([]field.QM31, 0, coords) // for the points of the blocks
	for i := range claims {
		c := &claims[i]
		value = value.Add(power.Mul(c.Value))
		at := &p.places[p.placeOf[c.Tensor]]
		if c.Saturated != nil {
			terms = at.saturated(terms, c, power)
			power = power.Mul(zeta)
			continue
		}
		parts := poly.SplitAxes(p.Graph.Tensors[c.Tensor].Shape, c.Point)
		for _, i := range at.stack.ByTensor[c.Tensor] {
			b := &at.stack.Blocks[i]
			t := whir.Term{Coef: power, Tree: at.tree, Offset: at.first + b.Offset, Point: room[:0:b.Bits]}
			room = room[b.Bits:b.Bits:cap(room)]
			for a, part := range b.Parts {
				high := parts[a][:len(parts[a])-part.Bits]
				t.Coef = t.Coef.Mul(poly.EqIndex(high, uint64(part.Start>>part.Bits)))
				t.Point = append(t.Point, parts[a][len(high):]...)
			}
			terms = append(terms, t)
		}
		power = power.Mul(zeta)
	}
	for _, t := range p.tails() {
		terms = append(terms, whir.Term{Coef: power, Tree: t.tree, Offset: t.offset, Point: tau[len(tau)-t.vars:]})
		power = power.Mul(zeta)
	}
	return terms, value
}
