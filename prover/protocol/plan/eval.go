package plan

import (
	"sync"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// cutGrain is the least cuts whose insides are worth a goroutine.
const cutGrain = 1 << 6

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
	parallel.For(len(j.all), 1, func(lo, hi int) {
		var g gathered
		for _, c := range j.all[lo:hi] {
			e.cut(c, &g)
		}
		e.add(g.sum, nil)
	})
	var t whir.Term
	for i := range j.claims {
		if of := j.claims[i].Saturated; of != nil {
			j.claim(i, 0, len(of.SaturatedBlocks()), &t, e.term)
		}
	}
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

// gathered are factors of terms from many places, side by side, and the sum of terms so far.
type gathered struct {
	powers, weights [1 << 7]field.QM31
	located         [1 << 7]*located
	sum             field.QM31
	term            whir.Term // for one at a time that is computed by itself
}

// cut adds the terms of all claims that share a cut. What a block has inside is a factor of one term of each of them.
func (e *evaluation) cut(c *cut, g *gathered) {
	inside := e.inside[c.number-1]
	for rest := c.claims; len(rest) > 0; {
		claims := rest[:min(len(rest), len(g.powers))]
		rest = rest[len(claims):]
		for n, i := range claims {
			g.powers[n], g.located[n] = e.powers[i], &e.p.located[e.claims[i].Tensor]
		}
		for k, point := range c.points {
			if len(point) > e.at.RowVars() {
				for _, i := range claims {
					e.joined.claim(int(i), k, k+1, &g.term, e.term)
				}
				continue
			}
			for n, at := range g.located[:len(claims)] {
				g.weights[n] = e.weights[at.place][at.blocks[k]]
			}
			g.sum = g.sum.Add(inside[k].Mul(field.Dot(g.powers[:len(claims)], g.weights[:len(claims)])))
		}
	}
}
