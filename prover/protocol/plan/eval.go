package plan

import (
	"sync"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// The least claims, and cuts, that are worth a goroutine.
const (
	evalGrain = 1 << 10
	cutGrain  = 1 << 6
)

// Eval adds up the terms at a point. What a term has in common with others is computed once: the weights of blocks of one size, which
// lie side by side in a stack, and what a cut has inside of its blocks.
func (j *joined) Eval(at *whir.Point) (field.QM31, error) {
	e := &evaluation{joined: j, at: at, weights: make([][]field.QM31, len(j.p.places)), inside: make([][]field.QM31, len(j.all))}
	parallel.For(len(e.weights), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			e.weights[i] = e.weightsOf(&j.p.places[i])
		}
	})
	parallel.For(len(e.inside), cutGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			e.inside[i] = e.insideOf(j.all[i])
		}
	})
	parallel.For(len(j.claims), evalGrain, func(lo, hi int) {
		var p products
		for i := lo; i < hi; i++ {
			e.claim(i, &p)
		}
		e.add(p.total(), nil)
	})
	j.Range(j.ofClaims(), j.Len(), e.term)
	return e.sum, e.err
}

// evaluation is what Eval knows of the point.
type evaluation struct {
	*joined
	at      *whir.Point
	weights [][]field.QM31 // by place and block of its stack, but for blocks that are longer than a row of the table
	inside  [][]field.QM31 // by cut and block, likewise, with the block's factor

	mu  sync.Mutex
	sum field.QM31
	err error // one of those that there are
}

func (e *evaluation) add(v field.QM31, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sum = e.sum.Add(v); err != nil {
		e.err = err
	}
}

func (e *evaluation) term(t *whir.Term) { e.add(e.at.Term(t)) }

func (e *evaluation) weightsOf(p *place) []field.QM31 {
	blocks := p.stack.Blocks
	weights := make([]field.QM31, len(blocks))
	for from, to := 0, 0; from < len(blocks); from = to {
		bits := blocks[from].Bits
		for to = from; to < len(blocks) && blocks[to].Bits == bits; to++ {
		}
		if bits <= e.at.RowVars() {
			if err := e.at.Blocks(weights[from:to], p.tree, p.first+blocks[from].Offset, bits); err != nil {
				e.add(field.Zero, err)
			}
		}
	}
	return weights
}

func (e *evaluation) insideOf(c *cut) []field.QM31 {
	inside := make([]field.QM31, len(c.coefs))
	for k, point := range c.points {
		if len(point) <= e.at.RowVars() {
			inside[k] = c.coefs[k].Mul(e.at.Inside(c.tree, point))
		}
	}
	return inside
}

// claim adds the terms of a claim.
func (e *evaluation) claim(i int, p *products) {
	located, like := &e.p.located[e.claims[i].Tensor], e.cuts[i]
	if like == nil { // of saturated rows
		e.joined.claim(i, 0, len(e.claims[i].Saturated.SaturatedBlocks()), &p.term, e.term)
		return
	}
	weights, inside := e.weights[located.place], e.inside[like.number-1]
	for k, block := range located.blocks {
		if len(like.points[k]) > e.at.RowVars() {
			e.joined.claim(i, k, k+1, &p.term, e.term)
			continue
		}
		p.add(e.powers[i], weights[block], inside[k])
	}
}

// products adds up products of three factors, many at a time.
type products struct {
	a, b, c [1 << 7]field.QM31
	n       int // that wait
	sum     field.QM31
	term    whir.Term // for one at a time that is computed by itself
}

func (p *products) add(a, b, c field.QM31) {
	p.a[p.n], p.b[p.n], p.c[p.n] = a, b, c
	if p.n++; p.n == len(p.a) {
		p.total()
	}
}

func (p *products) total() field.QM31 {
	a := p.a[:p.n]
	field.MulQM31Vec(a, a, p.b[:p.n])
	p.sum, p.n = p.sum.Add(field.Dot(a, p.c[:p.n])), 0
	return p.sum
}
