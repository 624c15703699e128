package quantise

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/audio"
	"github.com/prove-model/prove-model/onnx"
	static "github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// hiding is a model whose weights are to be hidden, and an input.
type hiding struct {
	name  string
	graph *graph.Graph
	input [][]float64
	opts  Options
	// published says that the model is of a family of hf; then some values have formats of more bits.
	published bool
}

// otherWeights returns a graph with other weights in the place of those that may be secret, of
// which the largest have nearly the same magnitudes. What a weight becomes follows from it alone.
func otherWeights(g *graph.Graph) *graph.Graph {
	out := *g
	out.Consts = map[string]*graph.Tensor{}
	for name, t := range g.Consts {
		if out.Consts[name] = t; t.Public || !t.DType.IsFloat() {
			continue
		}
		other := &graph.Tensor{Shape: t.Shape, DType: t.DType, F32: make([]float32, t.Len())}
		for i, x := range t.Floats() {
			h := fnv.New32a()
			h.Write([]byte{byte(math.Float32bits(x)), byte(math.Float32bits(x) >> 8), byte(math.Float32bits(x) >> 16)})
			other.F32[i] = float32(-float64(x) * (1 - float64(h.Sum32()%1024)/(1<<27)))
		}
		out.Consts[name] = other
	}
	if g.Rebind != nil {
		out.Rebind = func(sizes map[string]int) (*graph.Graph, error) {
			of, err := g.Rebind(sizes)
			if err != nil {
				return nil, err
			}
			return otherWeights(of), nil
		}
	}
	return &out
}

// onnxModel is a model of a file.
func onnxModel(t *testing.T, name, path, input string) hiding {
	in, err := onnx.ReadInputs(input)
	if err != nil {
		t.Fatal(err)
	}
	g, err := onnx.Load(path, in.Options(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return hiding{name: name, graph: g, input: in.Data()}
}

// publishedModels are the tiny models of the families that package hf reads.
func publishedModels(t *testing.T) (list []hiding) {
	paths, err := filepath.Glob(filepath.Join("..", "hf", "testdata", "*", "expected.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d models: %v", len(paths), err)
	}
	for i, path := range paths {
		if testing.Short() && i%4 != 0 {
			continue
		}
		dir := filepath.Dir(path)
		var in struct {
			IDs    []float64 `json:"input_ids"`
			Answer []float64 `json:"decoder_input_ids"`
			Pixels []float64 `json:"pixel_values"`
			Sound  []float64 `json:"input_features"`
			Audio  string    `json:"audio"`
			Texts  int       `json:"texts"`
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &in)
		}
		if err != nil {
			t.Fatal(err)
		}
		if file := filepath.Join(dir, "model.gguf"); filepath.Base(dir) == "llama-gguf" {
			dir = file
		}
		m, err := hf.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		tokens, written := len(in.IDs)/max(1, in.Texts), max(len(in.Answer), in.Texts)
		if in.Sound != nil {
			tokens, written = len(in.Answer), 0
		}
		var samples []float64
		var g *graph.Graph
		if in.Audio != "" {
			sound, failed := audio.Read(filepath.Join(filepath.Dir(path), in.Audio))
			if failed != nil {
				t.Fatal(failed)
			}
			for _, x := range sound.At(m.Speech.Rate) {
				samples = append(samples, float64(x))
			}
			g, err = m.Listening(len(in.Answer))
		} else {
			g, err = m.Graph(tokens, written)
		}
		if err != nil {
			t.Fatal(err)
		}
		var x [][]float64
		for _, values := range [][]float64{in.IDs, in.Answer, in.Pixels, in.Sound, samples} {
			if values != nil {
				x = append(x, values)
			}
		}
		list = append(list, hiding{name: filepath.Base(filepath.Dir(path)), graph: g, input: x, published: true})
	}
	return list
}

// ofConstants has a learned constant at every operator that takes one.
func ofConstants(t *testing.T, rng *rand.Rand) hiding {
	n := networks.New([]int{1, 8, 6, 6})
	some := func(shape ...int) graph.Value {
		return n.Filled(shape, func(int) float64 { return 0.5 + rng.Float64() })
	}
	equal := func(shape ...int) graph.Value { return n.Filled(shape, func(int) float64 { return 0.75 }) }
	x := convOf(n, n.In[0], 8, 3, 1, rng)
	c := func() graph.Value { return some(8) }
	x = n.BatchNorm(x, graph.Statistics{Scale: c(), Bias: c(), Mean: c(), Variance: c(), Epsilon: 1e-5})
	x = n.Mul(n.Apply(graph.Sigmoid, x), equal())                     // one learned number
	x = n.Add(n.Apply(graph.Tanh, n.Mul(x, equal(8, 1, 1))), equal()) // of a function
	x = n.Add(n.Mul(x, some(8, 6, 6)), equal(8, 1, 1))
	x = n.Sub(some(1, 8, 1, 6), x)
	x = n.Div(x, some(8, 1, 1))
	x = n.PRelu(x, some(8, 1, 1))
	x = n.Concat(1, x, some(1, 2, 6, 6))
	d := func() graph.Value { return some(10) }
	x = n.BatchNorm(n.Apply(graph.Relu, x), graph.Statistics{Scale: d(), Bias: d(), Mean: d(), Variance: d(), Epsilon: 1e-5})
	x = n.Reshape(x, []int{10, 36})
	x = n.MatMul(n.Dense(x, 5, rng), n.Filled([]int{5, 4}, func(int) float64 { return rng.NormFloat64() }))
	return hiding{name: "constants", graph: n.WithOutput(t, n.MatMul(some(3, 10), x)), input: [][]float64{networks.Outliers(8*36, 2, rng)}}
}

func hidingModels(t *testing.T) []hiding {
	rng := rand.New(rand.NewPCG(7, 1))
	list := []hiding{
		onnxModel(t, "digits", filepath.Join("..", "testdata", "digits", "digits.onnx"), filepath.Join("..", "testdata", "digits", "input.json")),
		ofConstants(t, rng),
		{name: "transformer", graph: networks.Transformer(t, 3, rng), input: [][]float64{networks.Outliers(12*32, 3, rng)}},
	}
	for _, mode := range []string{"w8a8", "exact"} {
		h := list[0]
		h.name, h.opts.Mode = h.name+" "+mode, mode
		list = append(list, h)
	}
	list = append(list, publishedModels(t)...)
	for _, name := range []string{"llama", "gpt2", "qwen3-moe", "bert"} { // of any length
		if x := openText(t, filepath.Join("..", "hf", "testdata", name)); x != nil {
			list = append(list, hiding{name: name + ", texts", graph: x.g, input: [][]float64{x.tokens(rng, longest)}, opts: Options{Length: longest}})
		}
	}
	dir := os.Getenv("PROVE_MODEL_MODELS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "models")
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "network.onnx"))
	for _, path := range paths {
		at := filepath.Dir(path)
		list = append(list, onnxModel(t, filepath.Base(at), path, filepath.Join(at, "input.json")))
	}
	return list
}

// formats has some values finer than others, so that products take digits.
func (h *hiding) formats() Formats {
	if !h.published {
		return nil
	}
	f := Formats{}
	for _, n := range h.graph.Nodes {
		switch n.Op.(type) {
		case graph.MatMul, graph.Gemm:
			f[n.Output] = Format{Bits: 15, Weights: 13}
		case graph.Arithmetic:
			if h.graph.Consts[n.Inputs[0]] == nil && h.graph.Consts[n.Inputs[1]] == nil && n.Op == graph.Add {
				f[n.Output] = Format{Bits: 20}
			}
		}
	}
	return f
}

// TestHiddenWeights makes circuits of two sets of weights with the same ranges and formats. All
// that a key says of them but the tree's root follows from the circuit.
func TestHiddenWeights(t *testing.T) {
	for i, h := range hidingModels(t) {
		if !*full && h.published && h.name != "llama" && i%8 != 0 {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			values, err := h.graph.RunFloat(h.input)
			if err != nil {
				t.Fatal(err)
			}
			made := func(g *graph.Graph, hide bool) *Model {
				opts := h.opts
				opts.Hide, opts.Formats = hide, h.formats()
				m, err := Quantise(g, RangesOf(h.graph, values), opts)
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			other := otherWeights(h.graph)
			m, o := made(h.graph, true), made(other, true)
			alike(t, m, o)
			if h.opts.Length > 0 && len(m.Circuit.Free) == 0 {
				t.Errorf("no length is open: %v", m.OneBatch)
			}
			learned := false // anything that a circuit could tell of
			for _, c := range h.graph.Consts {
				learned = learned || c.DType.IsFloat() && !c.Public
			}
			if learned && reflect.DeepEqual(m.Weights, o.Weights) {
				t.Error("the weights are the same")
			}
			_, got, want := runHidden(t, m, h.graph, h.input, values)
			for i := range got {
				if a := Compare(got[i], want[i]); a.Relative > 0.01 && h.opts.Mode != "w8a8" {
					t.Errorf("output %d is off by %.2g of its range", i, a.Relative)
				}
			}
			if h.published && h.name != "llama" { // it is the same for one as for all
				return
			}
			plain := made(h.graph, false)
			if learned && reflect.DeepEqual(plain.Circuit, made(other, false).Circuit) {
				t.Error("the circuit tells nothing of the weights where they are not hidden")
			}
			if certifiable(t, plain) == nil {
				for _, m := range []*Model{m, o} {
					if err := certifiable(t, m); err != nil {
						t.Errorf("a certificate of the weights that are not hidden shows the bounds, but of those that are: %v", err)
					}
				}
			}
		})
	}
}

// alike checks that two circuits are the same.
func alike(t *testing.T, a, b *Model) {
	t.Helper()
	if reflect.DeepEqual(a.Circuit, b.Circuit) {
		return
	}
	x, y := a.Circuit.Graph, b.Circuit.Graph
	for i := range min(len(x.Tensors), len(y.Tensors)) {
		if !reflect.DeepEqual(x.Tensors[i], y.Tensors[i]) {
			t.Fatalf("tensor %d:\n%+v\n%+v", i, x.Tensors[i], y.Tensors[i])
		}
	}
	for i := range min(len(x.Steps), len(y.Steps)) {
		if !reflect.DeepEqual(x.Steps[i], y.Steps[i]) {
			t.Fatalf("step %d:\n%+v\n%+v", i, x.Steps[i], y.Steps[i])
		}
	}
	t.Fatal("the circuits differ")
}

// certifiable says whether the static bounds follow from what a certificate says of the weights.
func certifiable(t *testing.T, m *Model) error {
	return static.Check(m.Graph, static.Measure(m.Graph, m.Weights), arguments(t, m)...)
}

// runHidden is runModel, but for the bounds.
func runHidden(t *testing.T, m *Model, g *graph.Graph, inputs [][]float64, values map[string][]float64) (w *forward.Witness, got, want [][]float64) {
	t.Helper()
	ints, _, err := m.QuantiseInput(inputs)
	if err != nil {
		t.Fatal(err)
	}
	if w, err = forward.Run(context.Background(), m.Graph, m.Weights, ints); err != nil {
		t.Fatal(err)
	}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	for id := range m.Graph.Tensors {
		tensor := &m.Graph.Tensors[id]
		for i, x := range w.Tensor(model.TensorID(id)) {
			if int64(x) < tensor.Min || int64(x) > tensor.Max {
				t.Fatalf("tensor %d %q: entry %d is %d, outside of [%d, %d]", id, tensor.Name, i, x, tensor.Min, tensor.Max)
			}
		}
	}
	for _, o := range g.Outputs {
		want = append(want, values[o])
	}
	return w, m.Outputs(w), want
}

// TestHiddenAccuracy chooses formats with and without hidden weights. The grid costs a bit or two.
func TestHiddenAccuracy(t *testing.T) {
	for _, h := range hidingModels(t) {
		switch h.name {
		case "digits", "lenet_5", "self_attention", "llama":
		default:
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			values, err := h.graph.RunFloat(h.input)
			if err != nil {
				t.Fatal(err)
			}
			for _, hide := range []bool{false, true} {
				m, _, err := Choose(t.Context(), h.graph, []Sample{{Graph: h.graph, Inputs: h.input}}, RangesOf(h.graph, values), Options{Hide: hide})
				if err != nil {
					t.Fatal(err)
				}
				w, got, want := runHidden(t, m, h.graph, h.input, values)
				committed, lookups := 0, 0
				for i := range m.Graph.Tensors {
					if m.Graph.Tensors[i].Kind == model.Witness {
						committed += len(w.Tensor(model.TensorID(i)))
					}
				}
				for i := range m.Graph.Steps {
					if s := &m.Graph.Steps[i]; s.Kind == model.StepLookup {
						lookups += model.Size(s.Shape)
					}
				}
				for i := range got {
					a := Compare(got[i], want[i])
					t.Logf("hidden %v: output %d off by %.2g of its range, %d formats, %d entries committed, %d looked up; bounds %v", hide, i, a.Relative, len(m.Formats), committed, lookups, certifiable(t, m))
					if a.Relative > 2*Target {
						t.Errorf("hidden %v: output %d is off by %.2g of its range", hide, i, a.Relative)
					}
				}
			}
		})
	}
}

// TestNotHidden checks what circuits that hide weights cannot have.
func TestNotHidden(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	whole := func(b *graph.Builder) graph.Value {
		x := b.Input("x", graph.Int64, []int{1, 3})
		return b.Mul(x, b.Constant("w", &graph.Tensor{Shape: []int{3}, DType: graph.Int64, I64: []int64{2, 3, 5}}))
	}
	for what, test := range map[string]struct {
		of     func(b *graph.Builder) graph.Value
		public []string
		says   string
	}{
		"trees": {func(b *graph.Builder) graph.Value {
			x := b.Input("x", graph.Float, []int{1, 2})
			return randomForest(b, rng, x, [][]float32{{0.25}, {0.5, 0.75}}, 2, 2, 1)
		}, nil, "thresholds would be part of the circuit"},
		"whole numbers":   {whole, nil, `constant "w" has whole numbers, which would be public`},
		"that are public": {whole, []string{"w"}, ""},
		"an output of its own": {func(b *graph.Builder) graph.Value {
			b.Output("c", b.Add(b.Constant("w", &graph.Tensor{Shape: []int{2}, DType: graph.Float, F32: []float32{1, 2}}), b.Constant("v", &graph.Tensor{Shape: []int{2}, DType: graph.Float, F32: []float32{3, 5}})))
			return b.Input("x", graph.Float, []int{1, 3})
		}, nil, ""},
	} {
		b := graph.NewBuilder("test")
		b.Output("y", test.of(b))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(what, err)
		}
		values, err := g.RunFloat([][]float64{[]float64{1, 2, 3}[:g.Inputs[0].Shape[1]]})
		if err != nil {
			t.Fatal(what, err)
		}
		_, err = Quantise(g, RangesOf(g, values), Options{Hide: true, Public: test.public})
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v; want %q", what, err, test.says)
		}
	}
}

// TestPublicConstants has a constant that is named as public be a coefficient, as all are where
// nothing is hidden.
func TestPublicConstants(t *testing.T) {
	b := graph.NewBuilder("test")
	x := b.Input("x", graph.Float, []int{1, 64})
	b.Output("y", b.Mul(x, b.Constant("half", &graph.Tensor{Shape: []int{}, DType: graph.Float, F32: []float32{0.5}})))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	in := [][]float64{networks.Outliers(64, 2, rand.New(rand.NewPCG(7, 3)))}
	fixed := func(public ...string) (n int) {
		m, _, _, _ := run(t, g, in, Options{Hide: true, Public: public})
		for i := range m.Graph.Tensors {
			if m.Graph.Tensors[i].Kind == model.Fixed {
				n++
			}
		}
		return n
	}
	if a, b := fixed(), fixed("half"); a != 1 || b != 0 {
		t.Errorf("%d fixed tensors where it is secret, %d where it is public", a, b)
	}
}

// TestHiddenOperators is TestHiddenWeights for the reader's operator cases, whose initialisers are
// secret, numbers that other files have as attributes among them.
func TestHiddenOperators(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "onnx", "testdata", "operators", "*.onnx"))
	if len(paths) < 100 {
		t.Fatalf("only %d cases", len(paths))
	}
	// Whole numbers of an initialiser or of a list in an attribute.
	learned := map[string]bool{"bit_shift_left": true, "bit_shift_right": true, "label_encoder": true, "gather_sliced_indices": true,
		"wrap_mul_16_large_each": true}
	made, tried := 0, 0
	for i, path := range paths {
		if !*full && i%3 != 1 { // TestFreeBatch has others
			continue
		}
		tried++
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		t.Run(name, func(t *testing.T) {
			h := onnxModel(t, name, path, strings.TrimSuffix(path, ".onnx")+".json")
			values, err := h.graph.RunFloat(h.input)
			if err != nil {
				t.Fatal(err)
			}
			ranges := RangesOf(h.graph, values)
			m, err := Quantise(h.graph, ranges, Options{Hide: true})
			if why := fmt.Sprint(err); strings.Contains(why, "thresholds would be part") || learned[name] && strings.Contains(why, "whole numbers, which would be public") {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			made++
			o, err := Quantise(otherWeights(h.graph), ranges, Options{Hide: true})
			if err != nil {
				t.Fatal(err)
			}
			alike(t, m, o)
			_, got, want := runHidden(t, m, h.graph, h.input, values)
			for i := range got {
				if a := Compare(got[i], want[i]); a.Relative > 0.01 || len(want[i]) >= 8 && a.Cosine < 0.999 {
					t.Errorf("output %d: error %.4f of the range %.4g, cosine %.6f\n%.4g\n%.4g", i, a.Relative, a.Range, a.Cosine, got[i], want[i])
				}
			}
		})
	}
	if made < tried*9/10 {
		t.Errorf("%d of %d cases", made, tried)
	}
}

// TestHiddenKeys compares all bytes of two keys but those of their trees' roots.
func TestHiddenKeys(t *testing.T) {
	for _, h := range []hiding{
		onnxModel(t, "digits", filepath.Join("..", "testdata", "digits", "digits.onnx"), filepath.Join("..", "testdata", "digits", "input.json")),
		ofConstants(t, rand.New(rand.NewPCG(7, 4))),
	} {
		values, err := h.graph.RunFloat(h.input)
		if err != nil {
			t.Fatal(err)
		}
		key := func(g *graph.Graph, hide bool) *proof.Key {
			m, err := Quantise(g, RangesOf(h.graph, values), Options{Hide: hide})
			if err != nil {
				t.Fatal(err)
			}
			key, _, err := prover.Commit(t.Context(), m.Circuit, m.Weights, proof.DefaultSecurity, prover.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return key
		}
		for _, hide := range []bool{true, false} {
			a, b := key(h.graph, hide), key(otherWeights(h.graph), hide)
			x, y := &a.FixedTree().Root, &b.FixedTree().Root
			if *x == *y {
				t.Errorf("%s: the roots are the same", h.name)
			}
			*x = *y
			one, err := proof.EncodeKey(a)
			if err != nil {
				t.Fatal(err)
			}
			if other := b.Encoded(); bytes.Equal(one, other) != hide {
				t.Errorf("%s, hidden %v: the keys without their roots are the same: %v", h.name, hide, !hide)
			}
		}
	}
}
