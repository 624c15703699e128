package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"pgregory.net/rapid"
)

// Division by computed values of either sign or both, with broadcasting:
// accurate on what it was calibrated with, within bounds on anything.
func TestDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		rows, width := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "width")
		shape := []int{rows, width}
		by := [][]int{{rows, width}, {width}, {rows, 1}, {1}, {}}[rapid.IntRange(0, 4).Draw(t, "by")]
		n := networks.New(shape, by)
		g := n.WithOutput(t, n.Div(n.In[0], n.In[1]))
		scale := math.Exp(rapid.Float64Range(-8, 8).Draw(t, "scale"))
		ratio := math.Exp(rapid.Float64Range(0, 3).Draw(t, "ratio"))
		signs := rapid.IntRange(0, 2).Draw(t, "signs")
		num, den := make([]float64, model.Size(shape)), make([]float64, model.Size(by))
		for i := range num {
			num[i] = rng.NormFloat64()
		}
		for i := range den {
			den[i] = scale * (1 + (ratio-1)*rng.Float64())
			if signs == 1 || signs == 2 && rng.IntN(2) == 1 {
				den[i] = -den[i]
			}
		}
		values, err := g.RunFloat([][]float64{num, den})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(g, Ranges(values), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, far := range []bool{false, true} {
			if far {
				for _, x := range [][]float64{num, den} {
					for i := range x {
						x[i] = []float64{1e30, -1e30, 0, x[i] / 1000}[rng.IntN(4)]
					}
				}
			}
			w := runChecked(t, m, [][]float64{num, den})
			if a := Compare(m.Outputs(w)[0], values["y"]); !far && a.Relative > 0.02 {
				t.Fatalf("error %g of the range %g", a.MaxError, a.Range)
			}
		}
	})
}

// A divisor that calibration has seen on one side of zero only divides with its own
// sign on the other, and where its magnitude is not what calibration led to expect,
// that is counted.
func TestDivisionBeyondCalibration(t *testing.T) {
	for _, calibrated := range []float64{1, -1} {
		n := networks.New([]int{4}, []int{4})
		g := n.WithOutput(t, n.Div(n.In[0], n.In[1]))
		num := []float64{1, -1, 0.5, 0.75}
		by := func(f ...float64) [][]float64 {
			den := make([]float64, 4)
			for i := range den {
				den[i] = calibrated * f[i]
			}
			return [][]float64{num, den}
		}
		values, err := g.RunFloat(by(1, 1.5, 2, 1.25))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(g, Ranges(values), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			in      [][]float64
			clamped int
		}{{by(1, 1.5, 2, 1.25), 0}, {by(-1, 1.5, -2, 1.25), 0}, {by(-1, -1.5, -2, -1.25), 0}, {by(0.01, 1, -0.01, 1), 2}, {by(0, 1, 1, 1), 1}} {
			w := runChecked(t, m, c.in)
			counted := 0
			for _, k := range m.Saturation(w) {
				counted += k.Count
			}
			if counted < c.clamped || c.clamped == 0 && counted > 0 {
				t.Errorf("by %v: %d clamped, want %d", c.in[1], counted, c.clamped)
			}
			for i, y := range m.Outputs(w)[0] {
				if want := num[i] / c.in[1][i]; math.Abs(y-want) > 0.002 && c.clamped == 0 {
					t.Errorf("%g/%g is %g", num[i], c.in[1][i], y)
				}
			}
		}
	}
}
