package hostile

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/schema"
	"github.com/prove-model/prove-model/prover/certify"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	circuits "github.com/prove-model/prove-model/prover/circuit/model"
	stored "github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
	quantised "github.com/prove-model/prove-model/quantise/fixed"
)

// valid are keys with proofs and certificates that hold, made to cost whoever verifies them as much
// as they may: nothing ends the work before its last check.
var valid = []entry{
	{"valid: fixed tensors", relies, certified(fixed(30000))},
	{"valid: sums", relies, certified(sums(1700, &schema.Tensor{Kind: schema.Fixed, Shape: []uint64{2}, Max: 1}))},
	{"valid: sums in pieces", relies, certified(sums(290, &schema.Tensor{Kind: schema.Fixed, Shape: []uint64{1 << 10}, Min: -1 << 20, Max: 1<<20 - 1}))},
	{"valid: terms", relies, certified(func(g *circuit) {
		x := g.input(1)
		var l []*schema.Linear
		for i := range 230000 {
			l = append(l, &schema.Linear{Coefficient: int64(i%60 + 1), Source: x})
		}
		g.Steps = append(g.Steps, &schema.Step{Kind: schema.Exact, Accumulator: &schema.Accumulator{Linear: l}, Out: g.tensor(&schema.Tensor{Kind: schema.Witness, Max: 1 << 25}) + 1})
	})},
	{"valid: views", relies, certified(func(g *circuit) {
		x := g.input(1, 1<<12)
		var l []*schema.Linear
		for i := range 1000 {
			l = append(l, &schema.Linear{Coefficient: int64(i%7 + 1), Source: x, View: &schema.View{Groups: []*schema.Group{
				{Out: []uint32{0}, In: []uint32{0}, Base: int64(i), Strides: []int64{3}, Sums: []*schema.Sum{{Dimension: 15, Stride: 7}}}}}})
		}
		shape := []uint64{1 << 8}
		out := g.tensor(&schema.Tensor{Kind: schema.Witness, Shape: shape, Max: 1 << 22})
		g.Steps = append(g.Steps, &schema.Step{Kind: schema.Exact, Shape: shape, Accumulator: &schema.Accumulator{Linear: l}, Out: out + 1})
	})},
	{"valid: norms", relies, layered(190, func(b *graph.Builder, x graph.Value) graph.Value {
		return b.Norm(graph.Norm{Axes: []int{1}, Epsilon: 1e-6}, x)
	})},
	{"valid: a ledger", counts, spent(used, "")},
	{"valid: Softmaxes", relies, layered(200, func(b *graph.Builder, x graph.Value) graph.Value { return b.Softmax(x, 1) })},
}

// committed is what a key is made of.
type committed struct {
	circuit *circuits.Template
	weights circuits.Weights
	blocks  []quantised.Block
}

// certified makes the files of a circuit with honest weights, most of them 0.
func certified(build func(g *circuit)) func() files {
	return func() files {
		key, err := proof.DecodeKey([]byte(key(build)()["a.vk"]))
		if err != nil {
			panic(err)
		}
		g, w := key.Circuit.Graph, circuits.Weights{}
		for i := range g.Tensors {
			t := &g.Tensors[i]
			if w = append(w, nil); t.Kind == circuits.Fixed {
				v := make([]int32, circuits.Size(t.Shape))
				v[0] = int32(t.Max)
				w[i] = stored.Of(v)
			}
		}
		inputs := make([][]int32, len(g.Inputs))
		for i, id := range g.Inputs {
			inputs[i] = make([]int32, circuits.Size(g.Tensors[id].Shape))
		}
		return proved(&committed{key.Circuit, w, nil}, inputs)
	}
}

// layered makes those of a model of many layers that are alike.
func layered(layers int, layer func(b *graph.Builder, x graph.Value) graph.Value) func() files {
	return func() files {
		b, rng := graph.NewBuilder("layers"), rand.New(rand.NewPCG(1, 2))
		x := b.Input("x", graph.Float, []int{1, 8})
		for range layers {
			x = layer(b, x)
		}
		b.Output("y", x)
		g, err := b.Graph()
		if err != nil {
			panic(err)
		}
		in := make([]float64, 8)
		for i := range in {
			in[i] = rng.NormFloat64()
		}
		values, err := g.RunFloat([][]float64{in})
		if err != nil {
			panic(err)
		}
		m, err := quantise.Quantise(g, quantise.RangesOf(g, values), quantise.Options{})
		if err != nil {
			panic(err)
		}
		inputs, _, err := m.QuantiseInput([][]float64{in})
		if err != nil {
			panic(err)
		}
		return proved(&committed{m.Circuit, m.Weights, m.Blocks}, inputs)
	}
}

// proved makes a key, the proof of a run, and the certificate.
func proved(c *committed, inputs [][]int32) files {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	ctx := context.Background()
	key, tree, err := prover.Commit(ctx, c.circuit, c.weights, proof.Security{TargetBits: 100, GrindBits: 16}, prover.Options{})
	must(err)
	at, err := key.Plan(key.Circuit.Unit())
	must(err)
	run, err := forward.Run(ctx, at.Graph, c.weights, inputs)
	must(err)
	var p, certificate bytes.Buffer
	_, err = prover.Prove(ctx, key, key.Circuit.Unit(), tree, run, &p, prover.Options{})
	must(err)
	_, err = certify.Prove(ctx, key, tree, c.weights, c.blocks, &certificate, prover.Options{})
	must(err)
	return files{"a.vk": string(key.Encoded()), "a.proof": p.String(), "a.crt": certificate.String()}
}

// relies verifies the key a.vk, its proof a.proof, its certificate a.crt, and that the bounds of the
// one follow from the other.
func relies(dir string) error {
	vk, err := os.Open(filepath.Join(dir, "a.vk"))
	if err != nil {
		return err
	}
	defer vk.Close()
	key, err := proof.ReadKey(vk, proof.MaxKeySize)
	if err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(dir, "a.proof"))
	if err != nil {
		return err
	}
	defer file.Close()
	result, err := verifier.Policy{}.Verify(key, file)
	if err != nil {
		return err
	}
	certificate, err := os.Open(filepath.Join(dir, "a.crt"))
	if err != nil {
		return err
	}
	defer certificate.Close()
	said, err := certify.Verify(key, certificate, verifier.Policy{})
	if err != nil {
		return err
	}
	return said.Check(result.Circuit)
}
