package plan

import (
	"slices"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
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

// claimGrain is the number of claims worth a goroutine.
const claimGrain = 1 << 6

// termsOf returns power times a claim, a term for every block of the tensor.
func (p *Plan) termsOf(c *Claim, power field.QM31) []whir.Term {
	at := &p.places[p.placeOf[c.Tensor]]
	if c.Saturated != nil {
		return at.saturated(nil, c, power)
	}
	parts := poly.SplitAxes(p.Graph.Tensors[c.Tensor].Shape, c.Point)
	blocks := at.stack.ByTensor[c.Tensor]
	terms := make([]whir.Term, 0, len(blocks))
	room := make([]field.QM31, 0, len(blocks)*len(c.Point)) // for the points of the blocks
	// Of the parts of an axis, the weight that the last blocks had: neighbours share most.
	type weight struct {
		of     model.Part
		value  field.QM31
		filled bool
	}
	last := make([]weight, len(parts))
	for _, i := range blocks {
		b := &at.stack.Blocks[i]
		t := whir.Term{Coef: power, Tree: at.tree, Offset: at.first + b.Offset, Point: room[:0:b.Bits]}
		room = room[b.Bits:b.Bits:cap(room)]
		for a, part := range b.Parts {
			high := parts[a][:len(parts[a])-part.Bits]
			if w := &last[a]; !w.filled || w.of != part {
				*w = weight{part, poly.EqIndex(high, uint64(part.Start>>part.Bits)), true}
			}
			if len(high) > 0 {
				t.Coef = t.Coef.Mul(last[a].value)
			}
			t.Point = append(t.Point, parts[a][len(high):]...)
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
	power, powers := field.One, make([]field.QM31, len(claims))
	for i := range claims {
		powers[i] = power
		value = value.Add(power.Mul(claims[i].Value))
		power = power.Mul(zeta)
	}
	lists := make([][]whir.Term, len(claims))
	parallel.For(len(claims), claimGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			lists[i] = p.termsOf(&claims[i], powers[i])
		}
	})
	terms = slices.Concat(lists...)
	for _, t := range p.tails() {
		terms = append(terms, whir.Term{Coef: power, Tree: t.tree, Offset: t.offset, Point: tau[len(tau)-t.vars:]})
		power = power.Mul(zeta)
	}
	return terms, value
}
