package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// A model that takes decibels of a spectrum, from its greatest value down to 80 below, is
// right on sounds that calibration has not heard, and the quotients by the greatest of all
// are products with a reciprocal.
func TestDecibelsOfASpectrum(t *testing.T) {
	const frames, window, bins = 48, 64, 33
	rng := rand.New(rand.NewPCG(41, 42))
	sound := func() []float64 {
		x := make([]float64, frames*window)
		for f := range frames {
			// Quiet frames beside loud ones: a tone and its faint harmonics, windowed.
			loud, pitch := math.Pow(10, -3*rng.Float64()), 2+8*rng.Float64()
			for i := range window {
				at := 2 * math.Pi * float64(i) / window
				hann := (1 - math.Cos(at)) / 2
				x[f*window+i] = loud * hann * (math.Sin(pitch*at) + 0.01*math.Sin(2*pitch*at) + 1e-4*math.Sin(3*pitch*at))
			}
		}
		return x
	}
	n := networks.New([]int{frames, window})
	part := func(of func(float64) float64) graph.Value {
		return n.MatMul(n.In[0], n.Filled([]int{window, bins}, func(i int) float64 {
			return of(2 * math.Pi * float64(i/bins*(i%bins)) / window)
		}))
	}
	re, im := part(math.Cos), n.Negative(part(math.Sin))
	root := n.Apply(graph.Sqrt, n.Add(n.Mul(re, re), n.Mul(im, im)))
	turned := n.Transpose(root, []int{1, 0})
	db := n.Mul(n.Apply(graph.Log, n.Add(n.Mul(turned, turned), n.Number(1e-6))), n.Number(10/math.Ln10))
	least := n.Negative(n.Reduce(graph.MaxOf, n.Negative(db), []int{0, 1}, true))
	above := n.Sub(db, least)
	g := n.WithOutput(t, n.Div(above, n.Reduce(graph.MaxOf, above, []int{0, 1}, true)))
	seen, unseen := [][]float64{sound()}, [][]float64{sound()}
	values, err := g.RunFloat(seen)
	if err != nil {
		t.Fatal(err)
	}
	m, c, err := Choose(context.Background(), g, []Sample{{Graph: g, Inputs: seen}}, Ranges(values), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if values, err = g.RunFloat(unseen); err != nil {
		t.Fatal(err)
	}
	_, got, want := runModel(t, m, g, unseen, values)
	a := Compare(got[0], want[0])
	t.Logf("%d runs, at first %.3f %%, then %.3f %%, of other sounds %.3f %%", c.Runs, 100*c.First, 100*c.Error, 100*a.Relative)
	if c.First < 0.01 {
		t.Error("formats that all values share would do")
	}
	if c.Error > Target || a.Relative > 2*Target {
		t.Errorf("error %.3f %%, of other sounds %.3f %%", 100*c.Error, 100*a.Relative)
	}
	for i := range m.Graph.Steps {
		if m.Graph.Steps[i].Kind == model.StepDivide {
			t.Error("a division")
		}
	}
}
