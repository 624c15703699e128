package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/forward"
)

// precise compares a network in two formats, on an input and on others that calibration
// has not seen, far larger ones among them. It returns the errors of the first.
func precise(t *testing.T, g *graph.Graph, in []float64, formats ...Formats) []float64 {
	t.Helper()
	var errors []float64
	for _, f := range formats {
		m, _, got, want := run(t, g, [][]float64{in}, Options{Formats: f})
		errors = append(errors, Compare(got[0], want[0]).Relative)
		rng := rand.New(rand.NewPCG(1, 2))
		for try := range 3 {
			x := make([]float64, len(in))
			for i := range x {
				x[i] = math.Pow(1e3, float64(try)) * rng.NormFloat64()
			}
			ints, _, err := m.QuantiseInput([][]float64{x})
			if err != nil {
				t.Fatal(err)
			}
			w, err := forward.Run(context.Background(), m.Graph, m.Weights, ints)
			if err != nil {
				t.Fatal(err)
			}
			checkWitness(t, m, w)
		}
	}
	t.Logf("errors of %.2g", errors)
	return errors
}

// Weights in two parts keep what their products leave of entries that differ less than
// they are large.
func TestWeightsInTwoParts(t *testing.T) {
	const width = 64
	rng := rand.New(rand.NewPCG(5, 6))
	n := newNetwork([]int{4, width})
	w := make([]float64, width*width)
	for i := range w {
		w[i] = rng.NormFloat64()
	}
	for j := range width {
		mean := 0.0
		for i := range width {
			mean += w[width*i+j] / width
		}
		for i := range width {
			w[width*i+j] -= mean
		}
	}
	g := n.graph(t, n.relu(n.MatMul(n.in[0], n.constant([]int{width, width}, func(i int) float64 { return w[i] }))))
	in := make([]float64, 4*width)
	for i := range in {
		in[i] = 8 + 0.1*rng.NormFloat64()
	}
	formats := func(weights int) Formats {
		f := Formats{g.Inputs[0].Name: {Bits: 20}}
		for _, n := range g.Nodes {
			f[n.Output] = Format{Bits: 18, Weights: weights}
		}
		return f
	}
	if e := precise(t, g, in, formats(partWeights), formats(formatWeights)); e[1] > e[0]/8 {
		t.Errorf("errors of %g in one part, and %g in two", e[0], e[1])
	}
}

// A product of two wide matrices takes both in limbs.
func TestLimbsOfBothFactors(t *testing.T) {
	const rows, width = 24, 48
	rng := rand.New(rand.NewPCG(7, 8))
	n := newNetwork([]int{rows, width})
	y := n.dense(n.in[0], width, rng)
	g := n.graph(t, n.Apply(graph.Tanh, n.MatMul(n.dense(n.in[0], width, rng), n.Transpose(y, []int{1, 0}))))
	formats := func(weights int) Formats {
		f := Formats{g.Inputs[0].Name: {Bits: 20}}
		for _, node := range g.Nodes {
			f[node.Output] = Format{Bits: 20, Weights: 15}
			if hasWeights(g, node) {
				continue
			}
			f[node.Output] = Format{Bits: 20}
			if _, ok := node.Op.(graph.MatMul); ok {
				f[node.Output] = Format{Bits: 20, Weights: weights}
			}
		}
		return f
	}
	if e := precise(t, g, normal(rows*width, rng), formats(0), formats(15)); e[1] > e[0]/4 {
		t.Errorf("errors of %g without limbs, and %g with them", e[0], e[1])
	}
}
