package prover

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// withBase is the circuit of all kinds of steps as an adapter to a model that has the weights of the convolution, a bias that
// nothing reads, and the column of the squares, in this order. adapter decides on all other weights.
func withBase(t *testing.T, suite hash.Suite, adapter uint64) *fixture {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	f := &fixture{b: everything(rng)}
	b := f.b
	b.g.Tensors = b.g.Tensors[:len(b.g.Tensors)-len(b.g.Mults)]
	b.w = b.w[:len(b.g.Tensors)]
	b.g.Mults = nil
	unread := b.fixed(rng, 9, 4)
	b.g.Base = []model.TensorID{b.find("squares"), unread, b.find("weights")}
	own := rand.New(rand.NewPCG(adapter, 1))
	v := b.edit(b.step("fc").Acc.Products[0].A)
	for i := range v {
		v[i] = own.Int32N(7) - 3
	}
	f.commit(t, suite, 0)
	f.in = [][]int32{make([]int32, 90)}
	for i := range f.in[0] {
		f.in[0][i] = own.Int32N(256) - 128
	}
	return f
}

// The base's root is the same for all adapters, and the root of a circuit that has the base's tensors and no others.
func TestBase(t *testing.T) {
	for _, suite := range []hash.Suite{hash.Blake3, hash.Poseidon2} {
		f, other := withBase(t, suite, 1), withBase(t, suite, 2)
		if len(f.key.Trees) != 2 || f.key.Trees[0] != other.key.Trees[0] || f.key.Trees[1].Root == other.key.Trees[1].Root {
			t.Fatalf("%s: trees %v and %v", suite, f.key.Trees, other.key.Trees)
		}
		alone := &builder{}
		x := alone.input(4)
		for _, id := range f.b.g.Base {
			src := &f.b.g.Tensors[id]
			alone.g.Tensors = append(alone.g.Tensors, model.Tensor{Name: src.Name, Shape: src.Shape, Kind: model.Fixed, Min: src.Min, Max: src.Max})
			alone.w = append(alone.w, f.b.w[id])
		}
		alone.g.Outputs = []model.TensorID{x}
		alone.g.Finish(0)
		key, _, err := Commit(t.Context(), alone.g.Template(), alone.w, f.key.Security, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if key.Trees[0] != f.key.Trees[0] {
			t.Errorf("%s: the base alone has the tree %v, under the adapter %v", suite, key.Trees[0], f.key.Trees[0])
		}
		var file bytes.Buffer
		if _, err := Prove(t.Context(), f.key, f.b.g.Instance, f.tree, f.run(t), &file, Options{}); err != nil {
			t.Fatal(err)
		}
		read, err := proof.DecodeKey(f.key.Encoded())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verifier.Verify(read, bytes.NewReader(file.Bytes())); err != nil {
			t.Error(err)
		}
		if _, err := verifier.Verify(other.key, bytes.NewReader(file.Bytes())); !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("a proof of another adapter: %v", err)
		}
		roots, err := Roots(t.Context(), read, f.b.w, Options{})
		if err != nil || roots[0] != read.Trees[0].Root || roots[1] != read.Trees[1].Root {
			t.Errorf("roots %v, error %v", roots, err)
		}
		given, _, err := Commit(t.Context(), f.b.g.Template(), f.b.w, f.key.Security, Options{Base: other.tree[0]})
		if err != nil || given.Digest != f.key.Digest {
			t.Errorf("with the base's tree of another adapter: another key, error %v", err)
		}
		file.Reset()
		if _, err := Prove(t.Context(), f.key, f.b.g.Instance, f.tree, f.run(t), &file, Options{Hiding: &Hiding{TailLog: 2}}); err != nil {
			t.Fatal(err)
		}
		if _, err := verifier.Verify(read, &file); err != nil {
			t.Errorf("a masked proof: %v", err)
		}
	}
}

// Weights of the base and of the adapter are those under the roots, each under its own.
func TestBaseForced(t *testing.T) {
	f := withBase(t, hash.Blake3, 1)
	if err := f.try(t, cheat{}); err != nil {
		t.Fatalf("an honest prover: %v", err)
	}
	other := withBase(t, hash.Blake3, 2)
	replace := func(b *builder, id model.TensorID, v ints.Ints) { copy(b.edit(id), ints.All(v)) }
	fc := func(b *builder) model.TensorID { return b.step("fc").Acc.Products[0].A }
	adapter := func(b *builder) { replace(b, fc(b), other.b.w[fc(other.b)]) }
	base := func(b *builder) { b.edit(b.find("weights"))[5]++ }
	column := func(b *builder) { slices.Reverse(b.edit(b.find("squares"))) }
	cheats := map[string]cheat{
		"another adapter": {weights: adapter}, "another adapter, opened as committed": {weights: adapter, openHonestly: true},
		"a weight of the base": {weights: base}, "a weight of the base, opened as committed": {weights: base, openHonestly: true},
		"a column of the base": {weights: column}, "a column of the base, opened as committed": {weights: column, openHonestly: true},
	}
	for _, f.hiding = range []*Hiding{nil, {TailLog: 2}} {
		for name, c := range cheats {
			if err := f.try(t, c); !errors.Is(err, verifier.ErrInvalid) {
				t.Errorf("%s, masked %t: %v", name, f.hiding != nil, err)
			}
		}
	}
	// Claims on a tensor are about the tree that the key says: a prover has its own opinion of where tensors lie.
	columns, unread, weights, bias := f.b.g.Base[0], f.b.g.Base[1], f.b.g.Base[2], f.b.step("conv").Acc.Linear[0].Src
	for _, c := range []struct {
		what string
		base []model.TensorID
		same bool // whether the trees are as large as the key's
	}{
		{"the base's column in the adapter's tree", []model.TensorID{unread, weights}, false},
		{"the adapter's weights in the base's tree", []model.TensorID{columns, unread, weights, fc(f.b)}, false},
		{"all under one root", nil, false},
		{"the base's tensors in another order", []model.TensorID{columns, weights, unread}, true},
		{"the adapter's bias in the place of a tensor of the base", []model.TensorID{columns, bias, weights}, true},
	} {
		if err := f.moved(t, c.base, false); !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("%s: %v", c.what, err)
		}
		if c.same {
			if err := f.moved(t, c.base, true); !errors.Is(err, verifier.ErrInvalid) {
				t.Errorf("%s, opened as committed: %v", c.what, err)
			}
		}
	}
	if err := f.moved(t, f.b.g.Base, true); err != nil {
		t.Errorf("nothing moved: %v", err)
	}
}

// moved proves by a circuit with another base, as if that were the key's, and verifies by the key. It opens trees of
// its own, or those of the key.
func (f *fixture) moved(t *testing.T, base []model.TensorID, honest bool) error {
	t.Helper()
	g := *f.key.Circuit.Graph
	g.Base = base
	c := &model.Template{Graph: &g}
	key, trees, err := Commit(t.Context(), c, f.b.w, f.key.Security, Options{})
	if err != nil {
		t.Fatal(err)
	}
	key = &proof.Key{Circuit: c, Trees: key.Trees, Security: key.Security, Digest: f.key.Digest}
	if honest {
		key.Trees, trees = f.key.Trees, f.tree
	}
	p, err := key.Plan(f.b.g.Instance)
	if err != nil {
		t.Fatal(err)
	}
	wit, err := forward.Run(t.Context(), p.Graph, f.b.w, f.in)
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(t.Context(), key, p, trees, honestGraph{wit, p.Graph}, Options{})
	defer r.close()
	var file bytes.Buffer
	if err := r.prove(&file); err != nil {
		t.Fatal(err)
	}
	_, err = verifier.Verify(f.key, &file)
	return err
}
