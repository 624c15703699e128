package prover

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// layersOf is a batch of n rows of 12 through two dense layers, with a table's
// column, a view that is summed and a batch seen as one axis in between. Weights are
// up to span, and the first layer's sums are rounded by shift bits.
func layersOf(n int, span int32, shift int) *builder {
	rng := rand.New(rand.NewPCG(30, 31))
	b := &builder{}
	x := b.input(n, 12)
	w := b.fixed(rng, span, 8, 12)
	y := b.requantise("first", []int{n, 8}, model.Acc{Products: []model.Product{
		{Coef: 1, A: x, B: w, LabelsA: []int{0, 9}, LabelsB: []int{1, 9}}}}, shift, b.relu())
	flat := b.virtual([]int{4 * n, 2}, model.Linear{Coef: 1, Src: y, View: &model.View{Groups: []model.Group{
		{Out: []int{0, 1}, In: []int{0, 1}, Map: model.MapReshape}}}})
	square := b.requantise("square", []int{4 * n, 2}, model.Acc{Linear: []model.Linear{{Coef: 1, Src: flat}}}, 0, b.square())
	sum := b.virtual([]int{4 * n}, model.Linear{Coef: 1, Src: square, View: &model.View{Groups: []model.Group{
		axis(0, 0), {In: []int{1}, Sum: []model.SumIndex{{Dim: 2, Stride: 1}}}}}})
	b.g.Tensors[sum].Max = 1 << 16
	b.g.Outputs = []model.TensorID{sum}
	return b
}

// freeLayers is a key for layersOf with a free batch.
type freeLayers struct {
	circuit *model.Template
	weights model.Weights
	key     *proof.Key
	tree    Trees
}

func free(t *testing.T, span int32, shift int, sec proof.Security) *freeLayers {
	t.Helper()
	var builds []model.Build
	for _, n := range []int{2, 3} {
		builds = append(builds, model.Build{Sizes: []int{n}, Graph: &layersOf(n, span, shift).g})
	}
	f := &freeLayers{weights: layersOf(2, span, shift).w}
	var err error
	if f.circuit, err = model.Lift([]model.FreeDim{{Name: "batch", Bound: 1 << 10}}, builds...); err != nil {
		t.Fatal(err)
	}
	if f.key, f.tree, err = Commit(context.Background(), f.circuit, f.weights, sec, Options{}); err != nil {
		t.Fatal(err)
	}
	return f
}

// prove proves a batch of random rows, which it returns.
func (f *freeLayers) prove(t *testing.T, in model.Instance, rng *rand.Rand) (proved, []int32) {
	t.Helper()
	g, err := f.circuit.At(in)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]int32, 12*in.Sizes[0])
	for i := range x {
		x[i] = rng.Int32N(256) - 128
	}
	wit, err := forward.Run(context.Background(), g, f.weights, [][]int32{x})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := Prove(context.Background(), f.key, g.Instance, f.tree, wit, &file, Options{}); err != nil {
		t.Fatal(err)
	}
	return proved{&builder{g: *g}, f.key, file.Bytes()}, x
}

// proveLayers proves a batch of n for a key with a free batch.
func proveLayers(t *testing.T, n int) proved {
	t.Helper()
	p, _ := free(t, 20, 4, proof.Security{TargetBits: 30, GrindBits: 2}).prove(t, model.Instance{Sizes: []int{n}}, rand.New(rand.NewPCG(34, uint64(n))))
	return p
}

// TestWideWeights proves batches with weights that do not fit in 16 bits.
func TestWideWeights(t *testing.T) {
	f, rng := free(t, 65520, 16, proof.Security{TargetBits: 60, GrindBits: 4}), rand.New(rand.NewPCG(35, 36))
	for _, n := range []int{1, 2, 16} {
		p, x := f.prove(t, model.Instance{Sizes: []int{n}}, rng)
		r, err := verifier.Verify(p.key, bytes.NewReader(p.proof))
		if err != nil {
			t.Fatalf("a batch of %d: %v", n, err)
		}
		if !slices.Equal(r.Inputs[0], x) {
			t.Errorf("a batch of %d: another statement", n)
		}
	}
}

// TestOneKey proves batches of several sizes, in one chunk or more, for one key.
func TestOneKey(t *testing.T) {
	layers, rng := free(t, 20, 4, proof.Security{TargetBits: 60, GrindBits: 4}), rand.New(rand.NewPCG(32, 33))
	key := layers.key
	for _, in := range []model.Instance{
		{Sizes: []int{1}}, {Sizes: []int{2}}, {Sizes: []int{7}}, {Sizes: []int{7}, ChunkEntries: 60}, {Sizes: []int{540}}, {Sizes: []int{1 << 10}},
	} {
		p, x := layers.prove(t, in, rng)
		if (in.ChunkEntries > 0) != (p.b.g.Chunks > 1) {
			t.Errorf("%+v: %d chunks", in, p.b.g.Chunks)
		}
		r, err := verifier.Verify(key, bytes.NewReader(p.proof))
		if err != nil {
			t.Fatalf("%+v: %v", in, err)
		}
		if !slices.Equal(r.Inputs[0], x) || len(r.Outputs[0]) != 4*in.Sizes[0] || !slices.Equal(r.Circuit.Instance.Sizes, in.Sizes) {
			t.Errorf("%+v: another statement", in)
		}
		// Another size or layout, the header's alone or with public values to fit.
		for name, change := range map[string]func(f *frames){
			"size":        func(f *frames) { f.header.Sizes = []int{in.Sizes[0]%9 + 1} },
			"no size":     func(f *frames) { f.header.Sizes = nil },
			"two sizes":   func(f *frames) { f.header.Sizes = append(f.header.Sizes, 1) },
			"size 0":      func(f *frames) { f.header.Sizes = []int{0} },
			"over":        func(f *frames) { f.header.Sizes = []int{1<<10 + 1} },
			"chunks":      func(f *frames) { f.header.ChunkEntries++ },
			"many chunks": func(f *frames) { f.header.ChunkEntries = 1 },
			"size and values": func(f *frames) {
				f.header.Sizes = []int{in.Sizes[0]%9 + 1}
				f.in[0], f.out[0] = make([]int32, 12*f.header.Sizes[0]), make([]int32, 4*f.header.Sizes[0])
			},
			"half": func(f *frames) {
				n := (in.Sizes[0] + 1) / 2
				f.header.Sizes, f.in[0], f.out[0] = []int{n}, f.in[0][:12*n], f.out[0][:4*n]
				if n == in.Sizes[0] {
					f.out[0][0]++ // a batch of one has no half
				}
			},
		} {
			f := p.split(t)
			change(&f)
			if f.verify(t, key) == nil {
				t.Errorf("%+v, %s: accepted", in, name)
			}
		}
	}
}
