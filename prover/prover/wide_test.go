package prover

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/quantise"
)

// wideModel has a wide value that is rounded to limbs, a product with it, a product
// with limbs of a value that is not, a stream of sums, and a wide clamp.
func wideModel(t *testing.T) (*graph.Graph, [][]float64, quantise.Formats) {
	t.Helper()
	const width = 12
	rng := rand.New(rand.NewPCG(21, 22))
	b := graph.NewBuilder("wide")
	weights := func() graph.Value {
		c := &graph.Tensor{Shape: []int{width, width}, DType: graph.Float}
		for range width * width {
			c.F32 = append(c.F32, float32(rng.NormFloat64()))
		}
		return b.Constant("", c)
	}
	x, y := b.Input("x", graph.Float, []int{3, width}), b.Input("y", graph.Float, []int{3, width})
	product := b.Mul(x, y)
	wide := b.MatMul(product, weights())
	relu := b.Apply(graph.Relu, wide)
	narrow := b.MatMul(relu, weights())
	first := b.Add(x, wide)
	b.Output("z", b.Add(first, narrow))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	in := make([][]float64, 2)
	for i := range in {
		for j := range 3 * width {
			v := rng.NormFloat64()
			if j%width == 4 {
				v *= 50
			}
			in[i] = append(in[i], v)
		}
	}
	f := quantise.Formats{}
	sums := 0
	for _, n := range g.Nodes {
		switch n.Op {
		case graph.Add:
			f[n.Output] = quantise.Format{Bits: 24}
			sums++
		case graph.Mul:
			f[n.Output] = quantise.Format{Bits: 20}
		case graph.MatMul{}:
			f[n.Output] = quantise.Format{Bits: 15, Weights: 15}
		default:
			f[n.Output] = quantise.Format{Bits: 15}
		}
	}
	f["x"] = quantise.Format{Bits: 14}
	f["y"] = quantise.Format{Bits: 14}
	if sums != 2 || len(f) != 8 {
		t.Fatalf("formats %v", f)
	}
	return g, in, f
}

func TestWitnessOfWideValuesIsForced(t *testing.T) {
	t.Parallel()
	g, in, f := wideModel(t)
	newForger(t, g, in, quantise.Options{Formats: f}, 0).run(t, rand.New(rand.NewPCG(23, 24)), forcedIn(5))
}

// Both limbs of a wide value meet the same weights, which are read once.
func TestWeightsAreRestrictedOnce(t *testing.T) {
	g, in, f := wideModel(t)
	forger := newForger(t, g, in, quantise.Options{Formats: f}, 0)
	products := map[model.TensorID]int{}
	c := forger.m.Graph
	for i := range c.Steps {
		for _, p := range c.Steps[i].Acc.Products {
			if c.Tensors[p.B].Kind == model.Fixed {
				products[p.B]++
			}
		}
	}
	if len(products) != 2 {
		t.Fatalf("%d weights", len(products))
	}
	var mu sync.Mutex
	restricted := map[model.TensorID]int{}
	var buf bytes.Buffer
	_, err := Prove(context.Background(), forger.key, c.Instance, forger.tree, forger.honest, &buf, Options{
		Backend: func(g *model.Graph, w backend.Witness) backend.Backend {
			return &counting{cpu.New(g, w), func(id model.TensorID) {
				mu.Lock()
				defer mu.Unlock()
				restricted[id]++
			}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range products {
		if n != 2 || restricted[id] != 1 {
			t.Errorf("weights %d, in %d products, are restricted %d times", id, n, restricted[id])
		}
	}
	claims := 0
	p, err := forger.key.Plan(c.Instance)
	if err != nil {
		t.Fatal(err)
	}
	for _, fork := range p.Forks {
		for _, v := range fork.Claims {
			if _, ok := products[fork.Nodes[v].Tensor]; ok {
				claims++
			}
		}
	}
	if claims != len(products) {
		t.Errorf("%d claims on %d weights", claims, len(products))
	}
}

// counting tells which tensors are restricted.
type counting struct {
	backend.Backend
	restricted func(model.TensorID)
}

func (c *counting) Restrict(ctx context.Context, list []backend.Restriction) ([]backend.Table, error) {
	for _, r := range list {
		c.restricted(r.Tensor)
	}
	return c.Backend.Restrict(ctx, list)
}
