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
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// stacks is two trees of stacks of committed tensors, with a true claim on them: the terms have
// this value together.
type stacks struct {
	graph   model.Graph
	witness witness
	opening backend.Opening
	terms   whir.List
	value   field.QM31
}

// newStacks returns two trees: one over a single stack, with rows of 2^rowVars[0] values, and one
// over four stacks (several), with rows of 2^rowVars[1].
func newStacks(t *testing.T, rng random, suite hash.Suite, mode soundness.Mode, rowVars [2]int) *stacks {
	s := &stacks{}
	add := func(bits int, shape ...int) model.TensorID { return s.add(rng, bits, shape...) }
	c := soundness.Config{TargetBits: 20, GrindBits: 4, LogBlowup: 2, Mode: mode, Hash: suite}
	one := model.NewStack(&s.graph, []model.TensorID{add(8, 12, 33), add(16, 7), add(30, 3, 5, 6), add(8, 64, 16)})
	several := s.several(suite, rowVars[1], c.LogBlowup, add)
	o := &s.opening
	o.Commitments = []backend.Commitment{backend.SingleStack(suite, one, rowVars[0], c.LogBlowup), several}
	longest := max(rowVars[0], rowVars[1])
	end := uint64(0)
	for i := range o.Commitments {
		x := &o.Commitments[i]
		o.RowOffsets = append(o.RowOffsets, end)
		end += tableRows(x, longest) + 1
	}
	o.Params = must(soundness.Derive(c, longest, end))(t)
	s.claim(rng)
	return s
}

// add adds a tensor of random entries of so many bits: a witness tensor if the number of its axes is odd, else a fixed one.
func (s *stacks) add(rng random, bits int, shape ...int) model.TensorID {
	kind := []model.Kind{model.Fixed, model.Witness}[len(shape)%2]
	s.graph.Tensors = append(s.graph.Tensors, model.Tensor{Shape: shape, Kind: kind})
	s.witness.add(kind, rng.integers(model.Size(shape), bits))
	return model.TensorID(len(s.graph.Tensors) - 1)
}

// several returns a tree over four stacks. Each is a group of rows, with a gap of three slots behind it.
func (s *stacks) several(suite hash.Suite, rowVars, logBlowup int, add func(bits int, shape ...int) model.TensorID) backend.Commitment {
	c := backend.Commitment{Layout: whir.Layout{Hash: suite, RowVars: rowVars, LogBlowup: logBlowup}}
	var slot uint64
	for _, ids := range [][]model.TensorID{
		{add(30, 1), add(16, 5, 32), add(8), add(8, 100)}, {add(30, 3)}, {add(8, 40, 9), add(30, 2)}, {add(16, 21)},
	} {
		x := model.NewStack(&s.graph, ids)
		rows := int((x.Size + 1<<rowVars - 1) >> rowVars)
		c.Groups = append(c.Groups, whir.Group{First: slot, Rows: rows})
		c.Parts = append(c.Parts, backend.Part{Stack: x})
		slot += uint64(rows) + 3
	}
	return c
}

// tableRows returns the number of table rows that a commitment takes, if these have 2^rowVars values.
func tableRows(c *backend.Commitment, rowVars int) uint64 {
	return (c.Slots()<<c.RowVars + 1<<rowVars - 1) >> rowVars
}

// claim draws terms of all sizes and sets their value by definition. Some terms are on the same
// entries, some on slots without rows, and some differ only in their rows.
func (s *stacks) claim(rng random) {
	rowVars := s.opening.Params.RowVars()
	shared := rng.elements(rowVars)
	for i := range 24 {
		tree := i % 2
		c := s.opening.Commitments[tree]
		if c.Auxiliary { // the group of the auxiliary row is not in the table
			c.Groups, c.Auxiliary = c.Groups[:len(c.Groups)-1], false
		}
		values := make([]int32, tableRows(&c, rowVars)<<rowVars)
		row := 0
		for _, g := range c.Groups {
			for i := range g.Rows {
				slot := g.First + uint64(i)
				(filled{s, c}).FillRow(row, 0, values[slot<<c.RowVars:][:1<<c.RowVars])
				row++
			}
		}
		vars := rng.IntN(model.Log2Ceil(len(values)) + 1)
		for 1<<vars > len(values) {
			vars--
		}
		step := 1 << min(vars, rowVars)
		offset := uint64(rng.IntN((len(values)-1<<vars)/step+1) * step)
		term := whir.Term{Coef: rng.element(), Tree: tree, Offset: offset, Point: rng.elements(vars)}
		if rng.IntN(2) == 0 {
			low := min(vars, rowVars)
			copy(term.Point[vars-low:], shared[:low])
		}
		s.terms = append(s.terms, term)
		s.value = s.value.Add(term.Coef.Mul(poly.EvalInt32(values[offset:][:1<<vars], term.Point)))
	}
}

// commit commits to the stacks on a backend.
func (s *stacks) commit(ctx context.Context, b backend.Backend) ([]*whir.Tree, error) {
	var trees []*whir.Tree
	for _, c := range s.opening.Commitments {
		tree, err := b.Commit(ctx, c)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	return trees, nil
}

// prove returns the proof of the opening, and closes passes.
func (s *stacks) prove(ctx context.Context, trees []*whir.Tree, passes whir.Passes) ([]byte, error) {
	defer passes.Close()
	w := transcript.NewWriter(s.sponge(trees))
	err := whir.Open(ctx, w, s.opening.Params, trees, passes, s.opening.RowOffsets, s.terms, s.value)
	return w.Bytes(), err
}

// sponge returns the transcript before the opening.
func (s *stacks) sponge(trees []*whir.Tree) *transcript.Sponge {
	t := transcript.New(s.opening.Params.Config.Hash, "conformance: openings")
	for _, tree := range trees {
		t.AbsorbDigest(tree.Root())
	}
	return t
}

// verify verifies a proof of the opening.
func (s *stacks) verify(trees []*whir.Tree, proof []byte) error {
	var roots []hash.Digest
	var layouts []whir.Layout
	for _, tree := range trees {
		roots, layouts = append(roots, tree.Root()), append(layouts, tree.Layout())
	}
	r := transcript.NewReader(s.sponge(trees), proof)
	whir.Verify(r, s.opening.Params, roots, layouts, s.opening.RowOffsets, s.terms, s.value)
	return r.Done()
}

// inMemory returns the reference: commitments and passes of package whir in memory.
func (s *stacks) inMemory(t *testing.T) ([]*whir.Tree, whir.Passes) {
	var trees []*whir.Tree
	var layouts []whir.Layout
	var srcs []whir.RowSource
	for _, c := range s.opening.Commitments {
		src := filled{s, c}
		layouts, srcs = append(layouts, c.Layout), append(srcs, whir.RowSource(src))
		trees = append(trees, must(whir.Commit(background, c.Layout, src))(t))
	}
	return trees, whir.NewPasses(nil, s.opening.Params, layouts, srcs, s.opening.RowOffsets)
}

// filled is the whir.RowSource of a commitment, for inMemory.
type filled struct {
	s *stacks
	c backend.Commitment
}

// Rows implements whir.RowSource.
func (f filled) Rows() int { return f.c.Rows() }

// FillRow implements whir.RowSource.
func (f filled) FillRow(i, from int, dst []int32) {
	left := i
	for k, g := range f.c.Groups {
		if left >= g.Rows {
			left -= g.Rows
			continue
		}
		part := &f.c.Parts[k]
		at := uint64(part.First+left)<<f.c.RowVars + uint64(from)
		switch part.Kind {
		case backend.Tensors:
			part.Stack.Fill(&f.s.graph, f.s.witness.tensors, at, dst)
		case backend.Pads:
			clear(dst)
			for k := range dst {
				if e := (at + uint64(k)) / 4; e < uint64(len(f.c.Secrets.Pads)) {
					dst[k] = int32(f.c.Secrets.Pads[e].Limbs()[(at+uint64(k))%4].Int64())
				}
			}
		case backend.Masks:
			f.c.Secrets.Key.Ints(prf.Mask, uint64(i), uint64(from), dst)
		case backend.Auxiliary:
			f.c.Secrets.Key.Ints(prf.Auxiliary, uint64(i), uint64(from), dst)
		}
		return
	}
}

// openings tests commitments to stacks and their openings, with few rows and many, and with and without out-of-domain samples. It
// runs the cases from … to−1.
func openings(t *testing.T, open Open, suite hash.Suite, from, to int) {
	for i, c := range []struct {
		mode    soundness.Mode
		rowVars [2]int
	}{{soundness.Unique, [2]int{5, 5}}, {soundness.Johnson, [2]int{5, 8}}, {soundness.Johnson, [2]int{10, 6}}, {soundness.Unique, [2]int{1, 7}}} {
		if i < from || i >= to {
			continue
		}
		newStacks(t, newRandom(uint64(30+i)), suite, c.mode, c.rowVars).open(t, open, fmt.Sprintf("%+v", c), i%2 == 1)
	}
}

// open commits to the stacks on a backend and opens them, and compares the results with inMemory. If twice is set, and the backend is a
// backend.Preparer, it opens them once more after Prepare.
func (s *stacks) open(t *testing.T, open Open, c string, twice bool) {
	b := open(&s.graph, &s.witness)
	want, passes := s.inMemory(t)
	trees := must(s.commit(background, b))(t)
	for k := range trees {
		if trees[k].Root() != want[k].Root() {
			t.Fatalf("%s: another commitment than in memory", c)
		}
	}
	proof := must(s.prove(background, trees, must(b.Opening(background, s.opening))(t)))(t)
	if !bytes.Equal(proof, must(s.prove(background, want, passes))(t)) {
		t.Errorf("%s: another proof than in memory", c)
	}
	if err := s.verify(trees, proof); err != nil {
		t.Errorf("%s: %v", c, err)
	}
	if p, ok := b.(backend.Preparer); ok && twice {
		p.Prepare(background, s.opening, 0)
		if !bytes.Equal(proof, must(s.prove(background, trees, must(b.Opening(background, s.opening))(t)))(t)) {
			t.Errorf("%s: another proof of what was prepared", c)
		}
		p.Prepare(background, s.opening, 0) // Close must free this one
	}
	// A tree whose layers have been asked for can be used after the backend is closed.
	layers := must(trees[0].Layers(background))(t)
	b.Close()
	for l, layer := range must(want[0].Layers(background))(t) {
		if !slices.Equal(layers[l], layer) {
			t.Errorf("%s: other digests in layer %d", c, l)
		}
	}
	positions := []uint64{0, 5, 1<<want[0].Nodes().Depth() - 1}
	if !slices.Equal(must(trees[0].Nodes().Path(background, positions))(t), must(want[0].Nodes().Path(background, positions))(t)) {
		t.Errorf("%s: another path than in memory", c)
	}
}

// Openings names parts of the suite that have openings: with all, every one of them; else two with one hash suite,
// BLAKE3 or Poseidon2, among which are openings that are prepared before their claims are known.
func Openings(all, blake3 bool) []string {
	switch {
	case all:
		return []string{
			"openings, poseidon2", "openings, blake3", "other openings, poseidon2", "other openings, blake3",
			"hiding, poseidon2", "hiding, blake3", "other hiding, poseidon2", "other hiding, blake3",
		}
	case blake3:
		return []string{"openings, blake3", "hiding, blake3"}
	}
	return []string{"openings, poseidon2", "hiding, poseidon2"}
}

// Few names the parts that have no opening, and FewOpenings.
func Few() []string {
	return append([]string{"tensors", "product tensors", "tables", "sums", "fractions", "cancelled"}, FewOpenings()...)
}

// FewOpenings names every kind of opening once, with one of the two hash suites.
func FewOpenings() []string {
	return []string{"openings, poseidon2", "other openings, blake3", "hiding, blake3", "other hiding, poseidon2"}
}
