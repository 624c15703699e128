package plan

import (
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Claim says that the MLE of a committed tensor has a value at a point. A claim on the
// multiplicities of a table may instead say that the multiplicities of the table's saturated
// rows add up to the value (docs/protocol.md, "Look-ups", 7).
type Claim struct {
	Tensor    model.TensorID
	Point     []field.QM31
	Value     transcript.Form
	Saturated *model.Table // in place of Point
}

// half is 1/2. At points of halves every eq has the same value.
var half = field.FromM31(field.M31(1).Div2Exp(1))

// saturated returns the terms whose sum is power times the sum of the multiplicities of c's
// saturated rows. The multiplicities lie in their stack as one block, the given one. The sum over
// 2^n aligned entries is 2^n times their MLE at the point all of whose n coordinates are 1/2.
func (at *place) saturated(block int32, c *Claim, power field.QM31) (terms whir.List) {
	first := at.first + at.stack.Blocks[block].Offset
	for _, b := range c.Saturated.SaturatedBlocks() {
		t := whir.Term{Coef: power.MulM31(field.M31(1 << b.Bits)), Tree: at.tree, Offset: first + b.Start, Point: make([]field.QM31, b.Bits)}
		for i := range t.Point {
			t.Point[i] = half
		}
		terms = append(terms, t)
	}
	return terms
}

// claimGrain is the number of claims that one goroutine handles. Claims share cuts within
// such a group.
const claimGrain = 1 << 12

// A cut is a point cut up for the blocks of a tensor of a given shape: T~(point) is the sum over
// the blocks of coefs[k]·(MLE of block k at points[k]). All claims on tensors of this shape
// and tree at this point share the cut.
type cut struct {
	number int     // among the cuts of all claims, from 1 on; 0 until it is numbered
	claims []int32 // the claims that share the cut
	tree   int
	shape  []int
	point  []field.QM31
	coefs  []field.QM31   // by block
	points [][]field.QM31 // by block
}

// fill sets coefs and points, for a tensor that has the given blocks of the stack.
func (c *cut) fill(stack *model.Stack, blocks []int32) {
	c.coefs, c.points = make([]field.QM31, len(blocks)), make([][]field.QM31, len(blocks))
	parts := poly.SplitAxes(c.shape, c.point)
	room := make([]field.QM31, 0, len(blocks)*len(c.point)) // for the points of the blocks
	for k, i := range blocks {
		b := &stack.Blocks[i]
		coef := field.One
		at := room[:0:b.Bits]
		room = room[b.Bits:b.Bits:cap(room)]
		for a, part := range b.Parts {
			high := parts[a][:len(parts[a])-part.Bits]
			coef = coef.Mul(poly.EqIndex(high, uint64(part.Start>>part.Bits)))
			at = append(at, parts[a][len(high):]...)
		}
		c.coefs[k], c.points[k] = coef, at
	}
}

// cutKey is the key by which shared cuts are found: claims with different keys share none.
type cutKey struct {
	tree, vars, blocks int32      // the tree, and the numbers of the point's coordinates and the tensor's blocks
	first, last        field.CM31 // halves of the point's first and last coordinate
}

// cuts returns the cut of every claim; of claims on saturated rows it is nil. Within a group of
// claimGrain claims one cut is made for each shape and point. Claims that have the same cutKey
// but another shape or point, by chance or because somebody built a model key for it, get a cut
// each: this costs time but changes nothing else.
func (p *Plan) cuts(claims []Claim) []*cut {
	list := make([]*cut, len(claims))
	parallel.For(len(claims), claimGrain, func(lo, hi int) {
		seen := map[cutKey]*cut{}
		for i := lo; i < hi; i++ {
			c := &claims[i]
			if c.Saturated != nil {
				continue
			}
			at := &p.located[c.Tensor]
			shape := p.Graph.Tensors[c.Tensor].Shape
			place := &p.places[at.place]
			k := cutKey{tree: int32(place.tree), vars: int32(len(c.Point)), blocks: int32(len(at.blocks))}
			if k.vars > 0 {
				k.first, k.last = c.Point[0].C0, c.Point[k.vars-1].C0
			}
			found := seen[k]
			if found == nil || !slices.Equal(found.shape, shape) || !samePoint(found.point, c.Point) {
				found = &cut{tree: place.tree, shape: shape, point: c.Point}
				found.fill(place.stack, at.blocks)
				seen[k] = found
			}
			list[i] = found
		}
	})
	return list
}

// samePoint says whether two points are equal, at once if they are one in memory.
func samePoint(a, b []field.QM31) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// joined are the terms of the combined claim (whir.Terms): one for every block of a claim's
// tensor, and after those of all claims one for every block of an unused end of a row.
type joined struct {
	p      *Plan
	claims []Claim
	cuts   []*cut       // by claim; nil for claims on saturated rows
	all    []*cut       // every cut once, in the order of their numbers
	powers []field.QM31 // powers of zeta: one for each claim, and then one for each tail
	ends   []int        // by claim: how many terms it and the claims before it have
	tails  []tail
	tau    []field.QM31 // the point at which tails are claimed to be zero
}

// Len returns the number of terms.
func (j *joined) Len() int { return j.ofClaims() + len(j.tails) }

// ofClaims returns the number of terms of all claims.
func (j *joined) ofClaims() int {
	if len(j.ends) == 0 {
		return 0
	}
	return j.ends[len(j.ends)-1]
}

// Range calls f for terms lo to hi − 1.
func (j *joined) Range(lo, hi int, f func(*whir.Term)) {
	i, _ := slices.BinarySearch(j.ends, lo+1) // the first claim that ends behind lo
	at := 0                                   // its first term
	if i > 0 {
		at = j.ends[i-1]
	}
	var t whir.Term
	for ; i < len(j.claims) && at < hi; i++ {
		j.claim(i, max(lo-at, 0), min(hi, j.ends[i])-at, &t, f)
		at = j.ends[i]
	}
	for k := max(lo-j.ofClaims(), 0); k < hi-j.ofClaims(); k++ {
		end := &j.tails[k]
		t = whir.Term{Coef: j.powers[len(j.claims)+k], Tree: end.tree, Offset: end.offset, Point: j.tau[len(j.tau)-end.vars:]}
		f(&t)
	}
}

// claim calls f for terms lo to hi − 1 of claim i. Each term is written to t.
func (j *joined) claim(i, lo, hi int, t *whir.Term, f func(*whir.Term)) {
	c, located := &j.claims[i], &j.p.located[j.claims[i].Tensor]
	at := &j.p.places[located.place]
	if c.Saturated != nil {
		at.saturated(located.blocks[0], c, j.powers[i]).Range(lo, hi, f)
		return
	}
	t.Tree = at.tree
	for k, like := lo, j.cuts[i]; k < hi; k++ {
		t.Coef, t.Point = j.powers[i].Mul(like.coefs[k]), like.points[k]
		t.Offset = at.first + at.stack.Blocks[located.blocks[k]].Offset
		f(t)
	}
}

// Combine combines claims on committed tensors with powers of zeta into one claim Σ
// Table(x)·Q(x) = value over all trees. The MLE of a tensor is the sum over its blocks of
// eq(prefix)·Block~. After these claims come those that the unused ends of the witness's rows
// are zero, at the last coordinates of tau, which has TailVars coordinates (docs/protocol.md,
// "Openings"). The terms of Q are computed on demand.
func (p *Plan) Combine(claims []Claim, tau []field.QM31, zeta field.QM31) (terms whir.Terms, value field.QM31) {
	return p.Cut(claims).Combine(tau, zeta)
}

// Cuts are claims that have been cut into the blocks of their tensors.
type Cuts struct{ j joined }

// Cut does the part of Combine that needs no challenges.
func (p *Plan) Cut(claims []Claim) *Cuts {
	j := joined{p: p, claims: claims, cuts: p.cuts(claims), ends: make([]int, len(claims)), tails: p.tails()}
	n := 0
	for i := range claims {
		if like := j.cuts[i]; like != nil {
			if n += len(like.coefs); like.number == 0 {
				j.all = append(j.all, like)
				like.number = len(j.all)
			}
			like.claims = append(like.claims, int32(i))
		} else {
			n += len(claims[i].Saturated.SaturatedBlocks())
		}
		j.ends[i] = n
	}
	return &Cuts{j}
}

// Combine is Plan.Combine for these claims. It may be called once.
func (c *Cuts) Combine(tau []field.QM31, zeta field.QM31) (terms whir.Terms, value field.QM31) {
	j := &c.j
	j.tau, j.powers = tau, field.Powers(field.One, zeta, len(j.claims)+len(j.tails))
	for i := range j.claims {
		value = value.Add(j.powers[i].Mul(j.claims[i].Value.Known()))
	}
	return j, value
}
