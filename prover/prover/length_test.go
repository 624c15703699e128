package prover

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
)

// words and longestText are the vocabulary and the bound of attentive.
const (
	words       = 11
	longestText = 10
)

// attentive is a model of texts of n tokens: with rows of an embedding turned by their
// positions, every token attends to those before it within a window, and the mean of all
// is another output.
func attentive(t *testing.T, n int) *graph.Graph {
	t.Helper()
	const dim, window = 4, 5
	rng := rand.New(rand.NewPCG(80, 81))
	floats := func(shape ...int) *graph.Tensor {
		v := make([]float32, graph.Size(shape))
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return &graph.Tensor{Shape: shape, DType: graph.Float, F32: v}
	}
	b := graph.NewBuilder("attentive")
	ids := b.Reshape(b.Input("ids", graph.Int64, []int{1, n}, "", "tokens"), []int{n})
	x := b.Take(b.Constant("embedding", floats(words, dim)), 0, ids)
	all := floats(longestText, dim)
	x = b.Mul(x, b.Constant("turn", &graph.Tensor{Shape: []int{n, dim}, DType: graph.Float, F32: all.F32[:n*dim]}))
	mask := &graph.Tensor{Shape: []int{n, n}, DType: graph.Bool, I64: make([]int64, n*n)}
	for i := range n {
		for j := max(0, i-window+1); j <= i; j++ {
			mask.I64[i*n+j] = 1
		}
	}
	scores := b.Where(b.Constant("mask", mask), b.MatMul(x, b.Transpose(x, []int{1, 0})), b.Number(-1e30))
	y := b.MatMul(b.Softmax(scores, 1), x)
	b.Output("y", y)
	b.Output("mean", b.Reduce(graph.Mean, y, []int{0}, true))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	g.Rebind = func(sizes map[string]int) (*graph.Graph, error) { return attentive(t, sizes["tokens"]), nil }
	return g
}

func someTokens(rng *rand.Rand, n int) []float64 {
	ids := make([]float64, n)
	for i := range ids {
		ids[i] = float64(rng.IntN(words))
	}
	return ids
}

// TestTextIsForced tries to change what is committed to with texts of several lengths:
// the maximum of a row among it.
func TestTextIsForced(t *testing.T) {
	rng := rand.New(rand.NewPCG(82, 83))
	for _, n := range []int{1, 4, longestText} {
		f := newForger(t, attentive(t, n), [][]float64{someTokens(rng, n)}, quantise.Options{MaxTableBits: 12, ActBits: 9, Length: longestText}, 1<<10)
		changes := *forcedChanges
		if testing.Short() {
			changes = min(changes, 4)
		}
		f.run(t, rng, changes)
		for step, s := range f.m.Graph.Steps {
			if s.Kind != model.StepMax {
				continue
			}
			for _, c := range f.forgeries(step, rng.IntN(model.Size(s.Shape)), rng) {
				f.rejected(t, c.what, f.forge(c))
			}
		}
	}
}

// TestLengthIsForced proves texts of several lengths for one key, and that none passes for
// another length.
func TestLengthIsForced(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(84, 85))
	fg := attentive(t, longestText)
	values, err := fg.RunFloat([][]float64{someTokens(rng, longestText)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := quantise.Quantise(fg, quantise.Ranges(values), quantise.Options{Mode: "w8a8", Length: longestText})
	if err != nil {
		t.Fatal(err)
	}
	key, tree, err := Commit(ctx, m.Circuit, m.Weights, proof.Security{TargetBits: 40, GrindBits: 2}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3, longestText} {
		at, err := m.At(model.Instance{Sizes: []int{n}})
		if err != nil {
			t.Fatal(err)
		}
		in, _, err := at.QuantiseInput([][]float64{someTokens(rng, n)})
		if err != nil {
			t.Fatal(err)
		}
		w, err := forward.Run(ctx, at.Graph, at.Weights, in)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if _, err := Prove(ctx, key, at.Graph.Instance, tree, w, &file, Options{}); err != nil {
			t.Fatal(err)
		}
		p := proved{&builder{g: *at.Graph}, key, file.Bytes()}
		if err := p.verify(); err != nil {
			t.Fatalf("%d tokens: %v", n, err)
		}
		columns := len(w.Tensor(at.Graph.Outputs[0])) / n
		for name, c := range map[string]struct {
			why string
			do  func(f *frames)
		}{
			"another token": {"", func(f *frames) { f.in[0][0] = (f.in[0][0] + 1) % words }},
			"one token more": {"", func(f *frames) {
				f.header.Sizes, f.in[0], f.out[0] = []int{n + 1}, append(f.in[0], 0), append(f.out[0], make([]int32, columns)...)
			}},
			"one token fewer": {"", func(f *frames) {
				f.header.Sizes, f.in[0], f.out[0] = []int{n - 1}, f.in[0][:n-1], f.out[0][:columns*(n-1)]
			}},
			"no token": {"is not in [1, 10]", func(f *frames) { f.header.Sizes, f.in[0], f.out[0] = []int{0}, nil, nil }},
			"too many": {"is not in [1, 10]", func(f *frames) {
				f.header.Sizes, f.in[0], f.out[0] = []int{longestText + 1}, make([]int32, longestText+1), make([]int32, columns*(longestText+1))
			}},
			"another length": {"", func(f *frames) { f.header.Sizes = []int{n%longestText + 1} }},
		} {
			f := p.split(t)
			c.do(&f)
			if err := f.verify(t, key); !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%d tokens, %s: %v", n, name, err)
			}
		}
	}
}

// TestHostileLength: keys whose free length would make tables, or a verifier's work,
// without bounds are refused.
func TestHostileLength(t *testing.T) {
	fg := attentive(t, longestText)
	values, err := fg.RunFloat([][]float64{make([]float64, longestText)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := quantise.Quantise(fg, quantise.Ranges(values), quantise.Options{Mode: "w8a8", Length: longestText})
	if err != nil {
		t.Fatal(err)
	}
	find := func(g *model.Graph, kind model.Kind) *model.Tensor {
		for i := range g.Tensors {
			if g.Tensors[i].Kind == kind {
				return &g.Tensors[i]
			}
		}
		t.Fatal("no such tensor")
		return nil
	}
	for name, c := range map[string]struct {
		why    string
		change func(c *model.Template)
		size   int
	}{
		"a bound without end":      {"bound", func(c *model.Template) { c.Free[0].Bound = 1 << 40 }, 2},
		"no bound":                 {"bound", func(c *model.Template) { c.Free[0].Bound = 0 }, 2},
		"a text without end":       {"", func(c *model.Template) { c.Free[0].Bound = model.MaxBound }, model.MaxBound},
		"beyond rows of positions": {"", func(c *model.Template) { c.Free[0].Bound = model.MaxBound }, 1 << 20},
		"a fixed tensor that scales": {"scales", func(c *model.Template) {
			x := find(c.Graph, model.Fixed)
			x.Scales = make([]model.Scale, len(x.Shape))
			x.Scales[0] = 1
		}, 2},
		"a column that scales": {"scales", func(c *model.Template) {
			for _, table := range c.Graph.Tables {
				if table.Kind == model.TableFunc {
					c.Graph.Tensors[table.Values].Scales = []model.Scale{1}
				}
			}
		}, 2},
		"a maximum that does not scale": {"", func(c *model.Template) {
			for i := range c.Graph.Steps {
				if s := &c.Graph.Steps[i]; s.Kind == model.StepMax {
					s.Scales = nil
				}
			}
		}, 4},
		"a sum of the shortest rows": {"entry of its row", func(c *model.Template) {
			for i := range c.Graph.Steps {
				if s := &c.Graph.Steps[i]; s.Kind == model.StepMax {
					v := c.Graph.Steps[i+2].Acc.Linear[0].View
					v.Groups[len(v.Groups)-1].Sum[0].Scale = 0
				}
			}
		}, 4},
		"another dimension": {"no axis of an input", func(c *model.Template) { find(c.Graph, model.Input).Scales[1] = 2 }, 2},
	} {
		key, _, err := Commit(context.Background(), m.Circuit, m.Weights, proof.Security{TargetBits: 40, GrindBits: 2}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		copied, err := proof.DecodeKey(key.Encoded())
		if err != nil {
			t.Fatal(err)
		}
		c.change(copied.Circuit)
		if _, err := copied.Plan(model.Instance{Sizes: []int{c.size}}); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
