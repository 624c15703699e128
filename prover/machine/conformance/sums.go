package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// batch is a batch of true sumcheck claims, with their tables a and b.
type batch struct {
	shapes []sumcheck.Shape
	a, b   [][]field.QM31
}

// size is the number of variables of an instance, and how many of them, the first ones, are in its eq factor.
type size struct{ vars, eq int }

// newBatch returns a batch of random tables, with claims by definition. Some coordinates of eq are zero and one.
func newBatch(rng random, sizes []size) *batch {
	c := &batch{}
	for _, s := range sizes {
		x, y, eq := rng.elements(1<<s.vars), rng.elements(1<<s.vars), rng.elements(s.eq)
		if s.eq > 2 {
			eq[1], eq[2] = field.Zero, field.One
		}
		claim := field.Zero
		for i := range x {
			claim = claim.Add(poly.EqIndex(eq, uint64(i>>(s.vars-s.eq))).Mul(x[i]).Mul(y[i]))
		}
		c.shapes = append(c.shapes, sumcheck.Shape{Claim: transcript.Known(claim), NumVars: s.vars, Eq: eq})
		c.a, c.b = append(c.a, x), append(c.b, y)
	}
	return c
}

// sponge returns the transcript before the sumcheck.
func (c *batch) sponge() *transcript.Sponge {
	s := transcript.New(hash.Poseidon2, "conformance: sums")
	for _, x := range c.shapes {
		s.AbsorbQM31(x.Claim.Plain())
		s.AbsorbQM31(x.Eq...)
	}
	return s
}

// on uploads the tables and returns the passes over them.
func (c *batch) on(ctx context.Context, b backend.Backend) (sumcheck.Tables, error) {
	var insts []backend.Instance
	for i, s := range c.shapes {
		x, err := b.Upload(ctx, slices.Clone(c.a[i]))
		if err != nil {
			return nil, err
		}
		y, err := b.Upload(ctx, slices.Clone(c.b[i]))
		if err != nil {
			return nil, err
		}
		insts = append(insts, backend.Instance{Eq: s.Eq, A: x, B: y})
	}
	return b.Sums(ctx, insts)
}

// inMemory returns the reference: the passes of package sumcheck in memory.
func (c *batch) inMemory() sumcheck.Tables {
	var insts []sumcheck.Instance
	for i, s := range c.shapes {
		insts = append(insts, sumcheck.Instance{Eq: s.Eq, A: slices.Clone(c.a[i]), B: slices.Clone(c.b[i])})
	}
	return sumcheck.NewTables(insts)
}

// prove returns the proof of the batch, and closes passes.
func (c *batch) prove(ctx context.Context, passes sumcheck.Tables) ([]byte, error) {
	defer passes.Close()
	w := transcript.NewWriter(c.sponge())
	_, err := sumcheck.Prove(ctx, w, c.shapes, passes)
	return w.Bytes(), err
}

// verify verifies a proof, and checks the evaluations of the tables to which it reduces the claims.
func (c *batch) verify(proof []byte) error {
	r := transcript.NewReader(c.sponge(), proof)
	finals := sumcheck.Verify(r, c.shapes)
	for i, f := range finals {
		if poly.Eval(c.a[i], f.Point) != f.A.Plain() || poly.Eval(c.b[i], f.Point) != f.B.Plain() {
			return fmt.Errorf("sum %d ends in other values than its tables have", i)
		}
	}
	return r.Done()
}

// sums tests the proofs of batches of many sizes, with and without eq.
func sums(t *testing.T, open Open) {
	b := open(&model.Graph{}, &witness{})
	defer b.Close()
	for i, sizes := range [][]size{
		{{0, 0}}, {{1, 0}}, {{1, 1}}, {{9, 0}}, {{10, 3}}, {{5, 5}}, {{13, 0}}, {{12, 12}},
		{{3, 0}, {0, 0}, {11, 5}, {11, 0}, {7, 7}, {2, 1}, {8, 0}},
		{{10, 0}, {10, 0}, {10, 0}, {4, 0}},
	} {
		c := newBatch(newRandom(uint64(3+i)), sizes)
		proof := must(c.prove(background, must(c.on(background, b))(t)))(t)
		if !bytes.Equal(proof, must(c.prove(background, c.inMemory()))(t)) {
			t.Errorf("%v: another proof than in memory", sizes)
		}
		if err := c.verify(proof); err != nil {
			t.Errorf("%v: %v", sizes, err)
		}
	}
}
