package conformance

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
	"github.com/prove-model/prove-model/prover/whir"
)

// stacks are two stacks of committed tensors with a true claim on them.
type stacks struct {
	graph   model.Graph
	witness witness
	opening backend.Opening
	terms   []whir.Term
	value   field.QM31
}

func newStacks(t *testing.T, rng random, mode soundness.Mode, rowVars int) *stacks {
	s := &stacks{}
	add := func(bits int, shape ...int) model.TensorID {
		s.graph.Tensors = append(s.graph.Tensors, model.Tensor{Shape: shape, Kind: []model.Kind{model.Fixed, model.Witness}[len(shape)%2]})
		s.witness.tensors = append(s.witness.tensors, rng.integers(model.Size(shape), bits))
		return model.TensorID(len(s.graph.Tensors) - 1)
	}
	c := soundness.Config{TargetBits: 20, GrindBits: 4, LogBlowup: 2, Mode: mode}
	o := &s.opening
	var end uint64
	for _, ids := range [][]model.TensorID{
		{add(8, 12, 33), add(16, 7), add(30, 3, 5, 6), add(8, 64, 16)},
		{add(30, 1), add(16, 5, 32), add(8), add(8, 100)},
	} {
		x := backend.Stack{Layout: model.NewStack(&s.graph, ids), RowVars: rowVars, LogBlowup: c.LogBlowup}
		x.Rows = int((x.Layout.Size + 1<<rowVars - 1) >> rowVars)
		// Aligned to the size rounded up, as package plan does.
		size := uint64(1) << model.Log2Ceil(x.Rows)
		end = (end + size - 1) / size * size
		o.Stacks, o.RowOffsets = append(o.Stacks, x), append(o.RowOffsets, end)
		end += uint64(x.Rows)
	}
	o.Params = must(soundness.Derive(c, rowVars, end))(t)
	s.claim(rng)
	return s
}

// claim makes terms of all sizes, some on the same places and some where no rows
// are, with their value by definition.
func (s *stacks) claim(rng random) {
	rowVars, n := s.opening.Params.RowVars(), s.opening.Params.NumVars()
	table := make([]int32, 1<<n)
	for i, x := range s.opening.Stacks {
		x.Layout.Fill(&s.graph, s.witness.tensors, 0, table[s.opening.RowOffsets[i]<<rowVars:][:x.Rows<<rowVars])
	}
	for i := range 7 {
		vars := rng.IntN(n + 1)
		if i == 0 {
			vars = n
		}
		term := whir.Term{Coef: rng.element(), Offset: rng.Uint64N(1<<(n-vars)) << vars, Point: rng.elements(vars)}
		s.terms = append(s.terms, term)
		s.value = s.value.Add(term.Coef.Mul(poly.EvalInt32(table[term.Offset:][:1<<vars], term.Point)))
	}
}

// commit commits to the stacks on a backend.
func (s *stacks) commit(ctx context.Context, b backend.Backend) ([]*whir.Tree, error) {
	var trees []*whir.Tree
	for _, x := range s.opening.Stacks {
		tree, err := b.Commit(ctx, x)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	return trees, nil
}

func (s *stacks) prove(ctx context.Context, trees []*whir.Tree, passes whir.Passes) ([]byte, error) {
	defer passes.Close()
	w := transcript.NewWriter(sponge(trees))
	err := whir.Open(ctx, w, s.opening.Params, trees, passes, s.opening.RowOffsets, s.terms, s.value)
	return w.Bytes(), err
}

func sponge(trees []*whir.Tree) *transcript.Sponge {
	s := transcript.New("conformance: openings")
	for _, tree := range trees {
		s.AbsorbDigest(tree.Root())
	}
	return s
}

func (s *stacks) verify(trees []*whir.Tree, proof []byte) error {
	var roots []poseidon2.Digest
	var rows []int
	for _, tree := range trees {
		roots, rows = append(roots, tree.Root()), append(rows, tree.Rows())
	}
	r := transcript.NewReader(sponge(trees), proof)
	whir.Verify(r, s.opening.Params, roots, rows, s.opening.RowOffsets, s.terms, s.value)
	return r.Done()
}

// inMemory returns the commitments and passes that others are compared with.
func (s *stacks) inMemory(t *testing.T) ([]*whir.Tree, whir.Passes) {
	var trees []*whir.Tree
	var srcs []whir.RowSource
	for _, x := range s.opening.Stacks {
		src := filled{s, x}
		srcs = append(srcs, src)
		trees = append(trees, must(whir.Commit(background, x.RowVars, x.LogBlowup, src))(t))
	}
	return trees, whir.NewPasses(s.opening.Params, srcs, s.opening.RowOffsets)
}

// filled gives the rows of a stack.
type filled struct {
	s     *stacks
	stack backend.Stack
}

// Rows implements whir.RowSource.
func (f filled) Rows() int { return f.stack.Rows }

// FillRow implements whir.RowSource.
func (f filled) FillRow(i int, dst []int32) {
	f.stack.Layout.Fill(&f.s.graph, f.s.witness.tensors, uint64(i)<<f.stack.RowVars, dst)
}

// openings commits to stacks and opens them, with few rows and with many, and with
// out-of-domain samples.
func openings(t *testing.T, open Open) {
	for i, c := range []struct {
		mode    soundness.Mode
		rowVars int
	}{{soundness.Unique, 5}, {soundness.Johnson, 7}, {soundness.Johnson, 10}} {
		s := newStacks(t, newRandom(uint64(30+i)), c.mode, c.rowVars)
		b := open(&s.graph, &s.witness)
		want, passes := s.inMemory(t)
		trees := must(s.commit(background, b))(t)
		for k := range trees {
			if trees[k].Root() != want[k].Root() {
				t.Fatalf("%+v: another commitment than in memory", c)
			}
		}
		proof := must(s.prove(background, trees, must(b.Opening(background, s.opening))(t)))(t)
		if !bytes.Equal(proof, must(s.prove(background, want, passes))(t)) {
			t.Errorf("%+v: another proof than in memory", c)
		}
		if err := s.verify(trees, proof); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		// A tree whose layers are known outlives the backend.
		layers := must(trees[0].Layers(background))(t)
		b.Close()
		for l, layer := range must(want[0].Layers(background))(t) {
			if !slices.Equal(layers[l], layer) {
				t.Errorf("%+v: other digests in layer %d", c, l)
			}
		}
		positions := []uint64{0, 5, 1<<want[0].Nodes().Depth() - 1}
		if !slices.Equal(must(trees[0].Nodes().Path(background, positions))(t), must(want[0].Nodes().Path(background, positions))(t)) {
			t.Errorf("%+v: another path than in memory", c)
		}
	}
}
