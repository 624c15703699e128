package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
)

// The logarithm of the power in bands of a spectrum is right for rows of all sizes, in both modes
// and on samples that calibration has not met, within what the static bounds show.
func TestLogBandsOfManySizes(t *testing.T) {
	const rows, bins, bands = 12, 33, 8
	rng := rand.New(rand.NewPCG(61, 62))
	n := networks.New([]int{rows, bins})
	filters := n.Filled([]int{bins, bands}, func(i int) float64 { // triangles, of areas far apart
		bin, band := float64(i/bands), float64(i%bands)
		return math.Max(0, 1-math.Abs(bin-4*band)/4) * math.Pow(8, -band)
	})
	sums := n.MatMul(n.Mul(n.In[0], n.In[0]), filters)
	g := n.WithOutput(t, n.Apply(graph.Log, n.Clip(sums, 1e-10, math.Inf(1))))
	draw := func() [][]float64 {
		x := make([]float64, rows*bins)
		for i := range x {
			if row := i / bins; row > 0 { // and one of silence
				x[i] = rng.NormFloat64() * math.Pow(10, 2-float64(row)/2)
			}
		}
		return [][]float64{x}
	}
	in := draw()
	values, err := g.RunFloat(in)
	if err != nil {
		t.Fatal(err)
	}
	unseen := draw()
	wanted, err := g.RunFloat(unseen)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{lower.ModeAuto, lower.ModeExact} {
		m, choice, err := Choose(context.Background(), g, []Sample{{Graph: g, Inputs: in}}, Ranges(values, wanted), Options{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		if err := certifiable(t, m); err != nil {
			t.Error(err)
		}
		_, got, want := runModel(t, m, g, unseen, wanted)
		a := Compare(got[0], want[0])
		t.Logf("%s: at first %.3f %%, then %.3f %%, of other numbers %.3f %%", mode, 100*choice.First, 100*choice.Error, 100*a.Relative)
		if choice.Error > Target || a.Relative > 2*Target {
			t.Errorf("%s: error %.3f %%, of other numbers %.3f %%", mode, 100*choice.Error, 100*a.Relative)
		}
	}
}
