package plan

import (
	"sync"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// cutGrain is the least number of cuts worth a goroutine in the computation of insides.
const cutGrain = 1 << 6

// Eval returns the sum of the terms at a point (whir.Terms). A term has three factors: the power of zeta of its claim, the
// weight of its block (whir.Point.Blocks), and its inside, the eq of the cut's point within the block (whir.Point.Inside) with the
// cut's coefficient. Weights are computed once for each block of a stack, and insides once for each block of a cut.
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

// evaluation is the state of Eval. Blocks that are longer than a row of the table have neither a weight nor an inside: their
// terms are evaluated one by one.
type evaluation struct {
	*joined
	at      *whir.Point
	weights [][]field.QM31 // by place, and by block of its stack
	inside  [][]field.QM31 // by cut (number − 1), and by its block: eq inside the block times cut.coefs

	mu  sync.Mutex
	sum field.QM31
	err error // one of the errors, if there are any
}

// add adds a value to the sum, or records an error.
func (e *evaluation) add(v field.QM31, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sum = e.sum.Add(v); err != nil {
		e.err = err
	}
}

// term adds one term.
func (e *evaluation) term(t *whir.Term) { e.add(e.at.Term(t)) }

// weightsOf returns the weights of the blocks of a stack. Blocks of one size are neighbours, so that one call of
// whir.Point.Blocks gives the weights of them all.
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

// insideOf returns the insides of the blocks of a cut.
func (e *evaluation) insideOf(c *cut) []field.QM31 {
	inside := make([]field.QM31, len(c.coefs))
	for k, point := range c.points {
		if len(point) <= e.at.RowVars() {
			inside[k] = c.coefs[k].Mul(e.at.Inside(c.tree, point))
		}
	}
	return inside
}

// gathered has factors of terms of up to 128 claims that share a cut, and the sum of terms so far.
type gathered struct {
	powers, weights [1 << 7]field.QM31 // by claim: its power of zeta, and the weight of one of its blocks
	located         [1 << 7]*located   // by claim: where its tensor is
	sum             field.QM31
	term            whir.Term // room for a term that is evaluated by itself
}

// cut adds the terms of all claims that share a cut. Each block of the cut gives one term for each of these claims. These terms
// have the same inside, so that it is multiplied with their sum of power times weight.
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
