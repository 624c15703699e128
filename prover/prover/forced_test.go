package prover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/ints"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/quantise"
	"github.com/prove-model/prove-model/prover/sites"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/prover/whir"
)

// forger is a prover with full knowledge of a model who wants one witness
// entry to be another.
type forger struct {
	m      *quantise.Model
	key    *proof.Key
	tree   *whir.Tree
	in     [][]int32
	honest *forward.Witness
}

func newForger(t *testing.T, fg *graph.Graph, in [][]float64, opts quantise.Options, chunk int) *forger {
	t.Helper()
	values, err := fg.RunFloat(in)
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{}
	if f.m, err = quantise.Quantise(fg, quantise.Ranges(values), opts); err != nil {
		t.Fatal(err)
	}
	if f.m, err = f.m.At(model.Instance{ChunkEntries: chunk}); err != nil {
		t.Fatal(err)
	}
	if f.in, _, err = f.m.QuantiseInput(in); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if f.honest, err = forward.Run(ctx, f.m.Graph, f.m.Weights, f.in); err != nil {
		t.Fatal(err)
	}
	if f.key, f.tree, err = Commit(ctx, f.m.Circuit, f.m.Weights, proof.Security{TargetBits: 40, GrindBits: 2}, Options{}); err != nil {
		t.Fatal(err)
	}
	return f
}

// prove follows the protocol with any witness and returns the verdict.
func (f *forger) prove(t *testing.T, w *forward.Witness) error {
	t.Helper()
	p, err := f.key.Plan(f.m.Graph.Instance)
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(context.Background(), f.key, p, f.tree, honestGraph{w, f.m.Graph}, Options{})
	r.party = sites.NewUncheckedProver
	var buf bytes.Buffer
	if err := r.prove(&buf); err != nil {
		t.Fatal(err)
	}
	_, err = verifier.Verify(f.key, &buf)
	return err
}

// forgery replaces results of one step.
type forgery struct {
	what string
	step int
	set  map[model.TensorID]map[int]int64 // entry → value, modulo p
}

// forge returns the witness that agrees best with a forgery: everything after
// the step is computed from the forged values, if that is possible, and the
// step's own keys and counts are those that its equation asks for modulo p.
func (f *forger) forge(c forgery) *forward.Witness {
	g, w := f.m.Graph, slices.Clone(f.m.Weights)
	s := &g.Steps[c.step]
	// The step becomes one that computes the accumulator alone; its results
	// are given.
	h := *g
	h.Tensors, h.Steps = slices.Clone(g.Tensors), slices.Clone(g.Steps)
	for id, entries := range c.set {
		v := slices.Clone(f.honest.Values[id])
		for i, x := range entries {
			v[i] = centred(x)
		}
		w[id] = ints.Int32s(v)
	}
	for _, id := range []model.TensorID{s.Lo, s.Out} {
		if id != model.None {
			h.Tensors[id].Kind = model.Fixed
			if w[id] == nil {
				w[id] = ints.Int32s(f.honest.Values[id])
			}
		}
	}
	scratch := model.TensorID(len(h.Tensors))
	h.Tensors = append(h.Tensors, model.Tensor{Shape: s.Shape, Kind: model.Witness, Chunk: s.Chunk})
	h.Steps[c.step] = model.Step{Kind: model.StepExact, Name: s.Name, Shape: s.Shape, Acc: s.Acc, Out: scratch,
		Lo: model.None, Table: model.None, Den: model.None, Chunk: s.Chunk}
	forged, err := forward.Run(context.Background(), &h, append(w, nil), f.in)
	if err != nil {
		// Later steps refuse these values: leave those as they were.
		forged = &forward.Witness{Values: slices.Clone(f.honest.Values), Weights: f.m.Weights, Keys: slices.Clone(f.honest.Keys)}
		for id := range c.set {
			forged.Values[id] = ints.All(w[id])
		}
	} else {
		for _, id := range []model.TensorID{s.Lo, s.Out} {
			if id != model.None {
				forged.Values[id] = ints.All(w[id])
			}
		}
	}
	if s.Kind == model.StepLookup {
		f.lookUp(forged, c, err == nil)
	}
	return forged
}

// lookUp sets the keys of the forged step, and counts them where they are rows
// of the table.
func (f *forger) lookUp(w *forward.Witness, c forgery, recount bool) {
	g := f.m.Graph
	s := &g.Steps[c.step]
	table := &g.Tables[s.Table]
	var counts []int32
	for _, m := range g.Mults {
		if m.Chunk == s.Chunk && m.Table == s.Table {
			counts = slices.Clone(w.Values[m.Tensor])
			w.Values[m.Tensor] = counts
		}
	}
	keys := slices.Clone(f.honest.Keys[c.step])
	inverse := field.M31(1).Div2Exp(uint(s.Shift))
	for i, k := range keys {
		if s.Lo != model.None {
			// acc is what the honest values say.
			acc := int64(k)<<s.Shift + int64(f.honest.Values[s.Lo][i])
			keys[i] = centred(int64(field.FromInt64(acc - int64(w.Values[s.Lo][i])).Mul(inverse)))
		}
		if !recount {
			counts[int64(k)-table.Min]--
		}
		if table.Contains(int64(keys[i])) {
			counts[int64(keys[i])-table.Min]++
		}
	}
	w.Keys[c.step] = keys
}

// centred is the representative of x modulo p in (−p/2, p/2).
func centred(x int64) int32 {
	v := int64(field.FromInt64(x))
	if v > field.P/2 {
		v -= field.P
	}
	return int32(v)
}

// forgeries lists what may be tried on a step's results at entry i.
func (f *forger) forgeries(step, i int, rng *rand.Rand) []forgery {
	s := &f.m.Graph.Steps[step]
	var list []forgery
	try := func(what string, set ...int64) { // pairs of tensor and difference
		c := forgery{fmt.Sprintf("step %d (%s), entry %d: %s", step, s.Name, i, what), step, map[model.TensorID]map[int]int64{}}
		for k := 0; k < len(set); k += 2 {
			id := model.TensorID(set[k])
			if id != model.None && set[k+1] != 0 {
				c.set[id] = map[int]int64{i: int64(f.honest.Values[id][i]) + set[k+1]}
			}
		}
		if len(c.set) > 0 {
			list = append(list, c)
		}
	}
	out, lo := int64(s.Out), int64(s.Lo)
	any := func() int64 { return 1 + rng.Int64N(field.P-1) }
	switch s.Kind {
	case model.StepExact:
		try("result + 1", out, 1)
		try("any result", out, any())
	case model.StepLookup:
		table := &f.m.Graph.Tables[s.Table]
		value := func(d int64) int64 { // the change of the value d keys away
			key := int64(f.honest.Keys[step][i])
			if s.Out == model.None || !table.Contains(key+d) {
				return 0
			}
			var column []int32
			if table.Kind == model.TableFunc {
				column = ints.All(f.m.Weights[table.Values])
			}
			return table.Value(key+d, column) - int64(f.honest.Values[s.Out][i])
		}
		try("value + 1", out, 1)
		try("any value", out, any())
		try("the value of another row", out, value(1+rng.Int64N(9)))
		if s.Lo != model.None {
			try("remainder + 1", lo, 1)
			try("any remainder", lo, any())
			try("the row below", lo, int64(1)<<s.Shift, out, value(-1))
			try("the row above", lo, -int64(1)<<s.Shift, out, value(1))
			// A remainder within its range, and the row this gives modulo p.
			d := rng.Int64N(int64(1)<<s.Shift) - int64(f.honest.Values[s.Lo][i])
			try("another remainder in range", lo, d)
		}
	case model.StepDivide:
		den := int64(f.honest.Tensor(s.Den)[i])
		q, r := int64(f.honest.Values[s.Out][i]), int64(f.honest.Values[s.Lo][i])
		try("quotient + 1", out, 1, lo, -den)
		try("quotient − 1", out, -1, lo, den)
		try("quotient alone", out, 1)
		try("remainder alone", lo, 1)
		try("any quotient", out, any())
		// acc = den·q + r modulo p, with a remainder below den: of the quotients
		// that this admits, those next to the true one are in its range if any
		// are.
		acc, inverse := q*den+r, field.FromInt64(den).Inv()
		below, above := [2]int64{-field.P, 0}, [2]int64{field.P, 0}
		for x := range den {
			switch y := int64(centred(int64(field.FromInt64(acc - x).Mul(inverse)))); {
			case y < q && y > below[0]:
				below = [2]int64{y, x}
			case y > q && y < above[0]:
				above = [2]int64{y, x}
			}
		}
		for _, c := range [][2]int64{below, above} {
			try("a quotient modulo p", out, c[0]-q, lo, c[1]-r)
		}
	}
	return list
}

// all lists forgeries of every witness tensor, at random entries.
func (f *forger) all(t *testing.T, rng *rand.Rand) []forgery {
	t.Helper()
	var list []forgery
	forced := map[model.TensorID]bool{}
	for k := range f.m.Graph.Steps {
		s := &f.m.Graph.Steps[k]
		list = append(list, f.forgeries(k, rng.IntN(model.Size(s.Shape)), rng)...)
	}
	for _, c := range list {
		for id := range c.set {
			forced[id] = true
		}
	}
	for i := range f.m.Graph.Tensors {
		x := &f.m.Graph.Tensors[i]
		isCount := slices.ContainsFunc(f.m.Graph.Mults, func(m model.Mult) bool { return m.Tensor == model.TensorID(i) })
		if x.Kind == model.Witness && !isCount && !forced[model.TensorID(i)] {
			t.Errorf("nothing was tried on %q", x.Name)
		}
	}
	return list
}

// count returns the honest witness with another count.
func (f *forger) count(rng *rand.Rand) *forward.Witness {
	w := *f.honest
	w.Values = slices.Clone(w.Values)
	m := f.m.Graph.Mults[rng.IntN(len(f.m.Graph.Mults))]
	v := slices.Clone(w.Values[m.Tensor])
	v[rng.IntN(len(v))]++
	w.Values[m.Tensor] = v
	return &w
}

func (f *forger) run(t *testing.T, rng *rand.Rand, most int) {
	t.Helper()
	if err := f.prove(t, f.honest); err != nil {
		t.Fatalf("the honest control is rejected: %v", err)
	}
	list := f.all(t, rng)
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, c := range list[:min(most, len(list))] {
		f.rejected(t, c.what, f.forge(c))
	}
	if len(f.m.Graph.Mults) > 0 {
		f.rejected(t, "a count", f.count(rng))
	}
}

func (f *forger) rejected(t *testing.T, what string, w *forward.Witness) {
	t.Helper()
	switch err := f.prove(t, w); {
	case err == nil:
		t.Errorf("%s: accepted", what)
	case !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed):
		t.Errorf("%s: %v, which is no verdict", what, err)
	}
}

// TestWitnessIsForced tries to change what provers commit to, in every model
// of one or a few operators.
func TestWitnessIsForced(t *testing.T) {
	paths, _ := filepath.Glob("../../onnx/testdata/operators/*.onnx")
	rng := rand.New(rand.NewPCG(11, 12))
	for _, path := range paths {
		base := strings.TrimSuffix(path, ".onnx")
		t.Run(filepath.Base(base), func(t *testing.T) {
			in, err := onnx.ReadInputs(base + ".json")
			if err != nil {
				t.Fatal(err)
			}
			fg, err := onnx.Load(path, in.Options(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer fg.Close()
			newForger(t, fg, in.Data(), quantise.Options{MaxTableBits: 12, ActBits: 9}, 1<<10).run(t, rng, 1000)
		})
	}
}

// TestWitnessOfRowsIsForced does the same with what the operator models are too
// small for: norms of several limbs and long rows, whose means are divided for,
// Softmax with masks and with scores far apart, and divisors of both signs.
func TestWitnessOfRowsIsForced(t *testing.T) {
	type builder = func(*graph.Builder, []graph.Value) graph.Value
	softmax := func(b *graph.Builder, in []graph.Value) graph.Value { return b.Softmax(in[0], 1) }
	norm := func(op graph.Norm) builder {
		op.Axes = []int{1}
		return func(b *graph.Builder, in []graph.Value) graph.Value { return b.Norm(op, in[0]) }
	}
	for name, c := range map[string]struct {
		build  builder
		inputs []string
		width  int
		scale  float64 // of the first row, beside the second's
	}{
		"a norm":             {norm(graph.Norm{Epsilon: 1e-6}), []string{"a"}, 20, 1},
		"a small row's norm": {norm(graph.Norm{Sum: true}), []string{"a"}, 8, 1e-4},
		"a LayerNorm":        {norm(graph.Norm{Centred: true, Epsilon: 1e-5}), []string{"a"}, 7, 100},
		"a long LayerNorm":   {norm(graph.Norm{Centred: true, Epsilon: 1e-5}), []string{"a"}, 70, 100},
		"a long Softmax":     {softmax, []string{"a"}, 300, 1},
		"a short one":        {softmax, []string{"a"}, 7, 1},
		"a sharp one":        {softmax, []string{"a"}, 7, 1000},
		"a masked one": {func(b *graph.Builder, in []graph.Value) graph.Value {
			mask := &graph.Tensor{Shape: []int{2, 5}, DType: graph.Float, F32: []float32{0, -1e9, -1e9, 0, -1e9, -1e9, 0, 0, 0, 0}}
			return b.Softmax(b.Add(in[0], b.Constant("mask", mask)), 1)
		}, []string{"a"}, 5, 1},
		"a logarithm": {func(b *graph.Builder, in []graph.Value) graph.Value { return b.LogSoftmax(in[0], 1) }, []string{"a"}, 7, 1},
		"a quotient":  {func(b *graph.Builder, in []graph.Value) graph.Value { return b.Div(in[0], in[1]) }, []string{"a", "b"}, 6, 1},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(13, 14))
			shape := []int{2, c.width}
			b := graph.NewBuilder(name)
			var values []graph.Value
			in := make([][]float64, len(c.inputs))
			for i, v := range c.inputs {
				values = append(values, b.Input(v, graph.Float, shape))
				in[i] = make([]float64, 2*c.width)
				for j := range in[i] {
					in[i][j] = (1 + rng.Float64()) * float64(1-2*rng.IntN(2))
					if j < c.width {
						in[i][j] *= c.scale
					}
				}
			}
			b.Output("y", c.build(b, values))
			g, err := b.Graph()
			if err != nil {
				t.Fatal(err)
			}
			newForger(t, g, in, quantise.Options{}, 0).run(t, rng, 50)
		})
	}
}
