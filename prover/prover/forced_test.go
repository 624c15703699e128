package prover

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
)

// forger is a prover with full knowledge of a model who wants one witness
// entry to be another.
type forger struct {
	m      *quantise.Model
	key    *proof.Key
	tree   Trees
	in     [][]int32
	honest *forward.Witness
	// several counts the forgeries for which more than one step was altered.
	several int
}

func newForger(t *testing.T, fg *graph.Graph, in [][]float64, opts quantise.Options, chunk int) *forger {
	t.Helper()
	values, err := fg.RunFloat(in)
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{}
	if f.m, err = quantise.Quantise(fg, quantise.RangesOf(fg, values), opts); err != nil {
		t.Fatal(err)
	}
	lens := make([]int, len(in))
	for i := range in {
		lens[i] = len(in[i])
	}
	instance, err := f.m.Circuit.InstanceOf(lens)
	if err != nil {
		t.Fatal(err)
	}
	instance.ChunkEntries = chunk
	if f.m, err = f.m.At(instance); err != nil {
		t.Fatal(err)
	}
	if f.in, _, err = f.m.QuantiseInput(in); err != nil {
		t.Fatal(err)
	}
	f.commit(t)
	return f
}

// commit runs the model on the inputs and commits to it.
func (f *forger) commit(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	var err error
	if f.honest, err = forward.Run(ctx, f.m.Graph, f.m.Weights, f.in); err != nil {
		t.Fatal(err)
	}
	if f.key, f.tree, err = Commit(ctx, f.m.Circuit, f.m.Weights, proof.Security{TargetBits: 40, GrindBits: 2}, Options{}); err != nil {
		t.Fatal(err)
	}
}

// prove follows the protocol with any witness and returns the verdict.
func (f *forger) prove(t *testing.T, w *forward.Witness) error {
	t.Helper()
	return f.proveOn(t, w, func(b backend.Backend) backend.Backend { return b })
}

// proveOn is prove with a backend that is made of the usual one.
func (f *forger) proveOn(t *testing.T, w *forward.Witness, on func(backend.Backend) backend.Backend) error {
	t.Helper()
	p, err := f.key.Plan(f.m.Graph.Instance)
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(context.Background(), f.key, p, f.tree, honestGraph{w, f.m.Graph.WithIds(f.in)}, Options{})
	defer r.close()
	r.role = reduce.NewUncheckedProver
	r.backend = on(r.backend)
	var buf bytes.Buffer
	if err := r.prove(&buf); errors.Is(err, proof.ErrPublic) {
		return fmt.Errorf("%w: %w", verifier.ErrInvalid, err) // no file says so
	} else if err != nil {
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

// forge returns the witness that agrees best with forgeries of different steps: all
// that comes after is computed from the forged values, and where a later step refuses
// what they give, its own results are what its equation asks for, with the nearest row
// of the table. So a forger alters as many steps as it takes, each consistent with the
// others but where constraints leave none.
func (f *forger) forge(list ...forgery) *forward.Witness {
	g := f.m.Graph
	given := forced{steps: map[int]bool{}, values: map[model.TensorID][]int32{}}
	for _, c := range list {
		given.steps[c.step] = true
		s := &g.Steps[c.step]
		for _, id := range []model.TensorID{s.Lo, s.Out} {
			if id != model.None {
				given.values[id] = slices.Clone(f.honest.Values[id])
			}
		}
		for id, entries := range c.set {
			for i, x := range entries {
				given.values[id][i] = centred(x)
			}
		}
	}
	for {
		w, accs, err := f.rerun(given, len(g.Steps))
		if err == nil {
			f.lookUp(w, given, accs)
			if len(given.steps) > 1 {
				f.several++
			}
			return w
		}
		at := -1
		if _, scan := fmt.Sscanf(err.Error(), "step %d", &at); scan != nil || given.steps[at] || !f.refused(given, at) {
			return f.alone(list[0], given)
		}
	}
}

// forced are steps whose results are given, right or wrong.
type forced struct {
	steps  map[int]bool
	values map[model.TensorID][]int32
}

// rerun executes the first steps of the graph, with the accumulators alone of those
// whose results are given. It returns these by step.
func (f *forger) rerun(given forced, steps int) (*forward.Witness, map[int][]int32, error) {
	h, w := *f.m.Graph, slices.Clone(f.m.Weights)
	h.Tensors, h.Steps = slices.Clone(h.Tensors), slices.Clone(h.Steps[:steps])
	for id, v := range given.values {
		h.Tensors[id].Kind, w[id] = model.Fixed, ints.Int32s(v)
	}
	scratch := map[int]model.TensorID{}
	for i := range h.Steps {
		if s := h.Steps[i]; given.steps[i] {
			scratch[i] = model.TensorID(len(h.Tensors))
			h.Tensors = append(h.Tensors, model.Tensor{Shape: s.Shape, Kind: model.Witness, Chunk: s.Chunk})
			w = append(w, nil)
			h.Steps[i] = model.Step{Kind: model.StepExact, Name: s.Name, Shape: s.Shape, Acc: s.Acc, Out: scratch[i],
				Lo: model.None, Table: model.None, Den: model.None, Chunk: s.Chunk}
		}
	}
	run, err := forward.Run(context.Background(), &h, w, f.in)
	if err != nil {
		return nil, nil, err
	}
	for id, v := range given.values {
		run.Values[id] = v
	}
	accs := map[int][]int32{}
	for i, id := range scratch {
		accs[i] = run.Values[id]
	}
	return run, accs, nil
}

// refused gives a step that refuses its accumulator results all the same. It reports
// false if it cannot.
func (f *forger) refused(given forced, at int) bool {
	s := &f.m.Graph.Steps[at]
	if s.Kind != model.StepLookup {
		return false
	}
	given.steps[at] = true
	_, accs, err := f.rerun(given, at+1)
	if err != nil {
		return false
	}
	table := &f.m.Graph.Tables[s.Table]
	var column, lo, out []int32
	if table.Kind == model.TableFunc {
		column = ints.All(f.m.Weights[table.Values])
	}
	for _, acc := range accs[at] {
		key := int64(acc) >> s.Shift
		lo = append(lo, int32(int64(acc)-key<<s.Shift))
		key = min(max(key, table.Min), table.Min+1<<table.Bits-1)
		out = append(out, int32(table.Value(key, column)))
	}
	if s.Lo != model.None {
		given.values[s.Lo] = lo
	}
	if s.Out != model.None {
		given.values[s.Out] = out
	}
	return true
}

// lookUp sets the keys of the steps whose results are given to what their equations
// ask for modulo p, and counts them where they are rows of the table.
func (f *forger) lookUp(w *forward.Witness, given forced, accs map[int][]int32) {
	g := f.m.Graph
	for i, acc := range accs {
		s := &g.Steps[i]
		if s.Kind != model.StepLookup {
			continue
		}
		table := &g.Tables[s.Table]
		var counts []int32
		for _, m := range g.Mults {
			if m.Chunk == s.Chunk && m.Table == s.Table {
				counts = w.Values[m.Tensor]
			}
		}
		keys := slices.Clone(acc)
		inverse := field.M31(1).Div2Exp(uint(s.Shift))
		for k := range keys {
			if s.Lo != model.None {
				rest := int64(acc[k]) - int64(given.values[s.Lo][k])
				keys[k] = centred(int64(field.FromInt64(rest).Mul(inverse)))
			}
			if table.Contains(int64(keys[k])) {
				counts[int64(keys[k])-table.Min]++
			}
		}
		w.Keys[i] = keys
	}
}

// alone is a forgery with all other values, keys and counts as they were.
func (f *forger) alone(c forgery, given forced) *forward.Witness {
	s := &f.m.Graph.Steps[c.step]
	w := &forward.Witness{Values: slices.Clone(f.honest.Values), Weights: f.honest.Weights, Keys: slices.Clone(f.honest.Keys)}
	for id := range c.set {
		w.Values[id] = given.values[id]
	}
	if s.Kind != model.StepLookup {
		return w
	}
	table := &f.m.Graph.Tables[s.Table]
	acc := slices.Clone(w.Keys[c.step])
	for i, k := range acc {
		if s.Lo != model.None {
			acc[i] = k<<s.Shift + f.honest.Values[s.Lo][i]
		}
		for _, m := range f.m.Graph.Mults {
			if m.Chunk == s.Chunk && m.Table == s.Table {
				if i == 0 {
					w.Values[m.Tensor] = slices.Clone(w.Values[m.Tensor])
				}
				w.Values[m.Tensor][int64(k)-table.Min]--
			}
		}
	}
	f.lookUp(w, given, map[int][]int32{c.step: acc})
	return w
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
	case model.StepMax:
		x, m := f.honest.Tensor(s.Den), int64(f.honest.Values[s.Out][i])
		row := len(x) / model.Size(s.Shape)
		try("maximum + 1", out, 1)
		try("maximum − 1", out, -1)
		try("another entry of the row", out, int64(x[i*row+rng.IntN(row)])-m)
		try("an entry of any row", out, int64(x[rng.IntN(len(x))])-m)
		try("any maximum", out, any())
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
	f.proving(t, what, w, func(b backend.Backend) backend.Backend { return b })
}

// proving is rejected for a backend that is made of the usual one.
func (f *forger) proving(t *testing.T, what string, w *forward.Witness, on func(backend.Backend) backend.Backend) {
	t.Helper()
	switch err := f.proveOn(t, w, on); {
	case err == nil:
		t.Errorf("%s: accepted", what)
	case !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed):
		t.Errorf("%s: %v, which is no verdict", what, err)
	}
}

// fewChanges are those without the flag: then only one model of one operator in forgedOf has them.
const (
	fewChanges = 3
	forgedOf   = 3
)

var forcedChanges = flag.Int("forced", fewChanges, "changes that tests of what is forced try in each model of one or a few operators; make forced tries 150")

// forcedIn is how many changes to try in a model that is worth so many of those.
func forcedIn(models int) int {
	if testing.Short() {
		return min(*forcedChanges, fewChanges) * models
	}
	return *forcedChanges * models
}

// TestWitnessIsForced tries to change what provers commit to, in every model
// of one or a few operators: so many changes of each, at random.
func TestWitnessIsForced(t *testing.T) {
	paths, _ := filepath.Glob("../../onnx/testdata/operators/*.onnx")
	for i, path := range paths {
		if *forcedChanges <= fewChanges && i%forgedOf > 0 {
			continue // make forced tries them all
		}
		base := strings.TrimSuffix(path, ".onnx")
		t.Run(filepath.Base(base), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(11, uint64(i)))
			in, err := onnx.ReadInputs(base + ".json")
			if err != nil {
				t.Fatal(err)
			}
			fg, err := onnx.Load(path, in.Options(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer fg.Close()
			newForger(t, fg, in.Data(), quantise.Options{MaxTableBits: 12, ActBits: 9}, 1<<10).run(t, rng, forcedIn(1))
		})
	}
}

// TestForgedInSeveralSteps alters steps of norms, of a Softmax and of the logarithm of a power together: the root and
// the factor that it makes, the mean's digits with the remainders they leave, carries
// with the digits above, and whatever follows from them.
func TestForgedInSeveralSteps(t *testing.T) {
	for name, build := range map[string]func(b *graph.Builder, x graph.Value) graph.Value{
		"norm": func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Norm(graph.Norm{Axes: []int{1}, Epsilon: 1e-6}, x)
		},
		"LayerNorm": func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Norm(graph.Norm{Axes: []int{1}, Centred: true, Epsilon: 1e-5}, x)
		},
		"Softmax": func(b *graph.Builder, x graph.Value) graph.Value { return b.Softmax(x, 1) },
		"power":   func(b *graph.Builder, x graph.Value) graph.Value { return b.LogPower(graph.LogPower{Epsilon: 1e-9}, x) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const width = 70
			rng := rand.New(rand.NewPCG(15, 16))
			b := graph.NewBuilder(name)
			b.Output("y", build(b, b.Input("x", graph.Float, []int{2, width})))
			g, err := b.Graph()
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float64, 2*width)
			for i := range x {
				x[i] = rng.NormFloat64() * float64(1+99*(i/width))
			}
			f := newForger(t, g, [][]float64{x}, quantise.Options{}, 0)
			if err := f.prove(t, f.honest); err != nil {
				t.Fatalf("the honest control is rejected: %v", err)
			}
			// Values that have nothing to do with the honest ones end the run.
			all := slices.DeleteFunc(f.all(t, rng), func(c forgery) bool { return strings.Contains(c.what, "any ") })
			tries := 10
			if *full {
				tries = 25
			}
			for range tries {
				var list []forgery
				what := ""
				for range 1 + rng.IntN(3) {
					c := all[rng.IntN(len(all))]
					if slices.ContainsFunc(list, func(o forgery) bool { return o.step == c.step }) {
						continue
					}
					list, what = append(list, c), what+c.what+"; "
				}
				f.rejected(t, what, f.forge(list...))
			}
			if f.several < tries/3 {
				t.Errorf("%d of %d forgeries alter several steps", f.several, tries)
			}
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
		"a power": {func(b *graph.Builder, in []graph.Value) graph.Value {
			return b.LogPower(graph.LogPower{Epsilon: 1e-9}, in[0])
		}, []string{"a"}, 2, 1e-4},
		"a quotient": {func(b *graph.Builder, in []graph.Value) graph.Value { return b.Div(in[0], in[1]) }, []string{"a", "b"}, 6, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
			newForger(t, g, in, quantise.Options{}, 0).run(t, rng, forcedIn(2))
		})
	}
}
