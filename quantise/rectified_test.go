package quantise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// A rectified accumulator is what it says, at the ends of its range as well, on its own
// scale and on coarser ones.
func TestRectified(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		most        int64
		drop, bits  int
		least, more int64 // of the result, on any of the entries
	}{
		{1 << 28, 0, 20, 0, 1<<20 - 1}, {1 << 28, 8, 20, 0, 1<<20 - 1}, {1 << 28, 8, 18, 0, 1<<18 - 1}, {1<<22 - 1, 0, 20, 0, 1<<20 - 1},
	} {
		l := newIntegers()
		const n = 600
		id := l.input([]int{n}, -c.most, c.most)
		out := l.rectified("y", l.tensorExpr(id, nil, []int{n}), -c.drop, c.bits)
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(c.most) - int32(rng.Int64N(2*c.most+1))
			if i < n/2 { // around zero, and the ends
				x[i] = []int32{0, int32(c.most), int32(-c.most), 1 << (c.bits + c.drop)}[i%4] + int32(i/4) - n/16
				x[i] = max(-int32(c.most), min(int32(c.most), x[i]))
			}
		}
		w := l.run(t, []model.TensorID{out}, x)
		p := l.partsOf(out)
		for i, y := range w.Tensor(out) {
			half := int64(1) << c.drop >> 1
			want := max((int64(x[i])+half)>>c.drop, 0)
			top := int64(1)<<c.bits - 1
			// What is beyond the clamp keeps its low limb.
			if got := int64(y); got != want && !(want > top && got > top-1<<p.bits && got <= top) {
				t.Fatalf("%+v: %d becomes %d, not %d", c, x[i], y, want)
			}
		}
	}
}

// A layer whose accumulators could be thousands of times what they are, as one on the
// spectrum of a sound: what its weights multiply is small beside other entries. With a
// format, the result keeps its bits.
func TestReluFarBelowItsBound(t *testing.T) {
	for _, bits := range []int{15, 18} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			n := newNetwork([]int{1, 64})
			w := n.constant([]int{64, 64}, func(i int) float64 {
				if i < 64*32 {
					return 0
				}
				return rng.NormFloat64()
			})
			g := n.graph(t, n.dense(n.relu(n.MatMul(n.in[0], w)), 8, rng))
			f := Formats{g.Inputs[0].Name: {Bits: 24}}
			for _, node := range g.Nodes {
				f[node.Output] = Format{Bits: bits}
				if _, ok := node.Op.(graph.MatMul); ok {
					f[node.Output] = Format{Bits: bits, Weights: 13}
				}
			}
			in := make([]float64, 64)
			for i := range in {
				in[i] = rng.NormFloat64()
				if i >= 32 {
					in[i] /= 1 << 10
				}
			}
			m, w2, got, want := run(t, g, [][]float64{in}, Options{Formats: f})
			a := Compare(got[0], want[0])
			t.Logf("error %.4f %% of the range", 100*a.Relative)
			if a.Relative > Target {
				t.Errorf("error %g of the range %g", a.MaxError, a.Range)
			}
			if s := m.Saturation(w2); len(s) > 0 {
				t.Errorf("the calibration input saturates: %v", s)
			}
		})
	}
}

// Outputs count alike in what a search is judged by, whatever their units.
func TestSpreadHasNoUnits(t *testing.T) {
	var spreads [2]float64
	for i, unit := range []float64{1, 1 << 12} {
		rng := rand.New(rand.NewPCG(7, 8))
		n := newNetwork([]int{4, 32})
		h := n.Apply(graph.Tanh, n.dense(n.in[0], 32, rng))
		n.Output("first", n.Mul(n.in[0], n.Number(unit)))
		n.Output("second", n.dense(h, 8, rng))
		g, err := n.Graph()
		if err != nil {
			t.Fatal(err)
		}
		in := [][]float64{normal(4*32, rng)}
		values, err := g.RunFloat(in)
		if err != nil {
			t.Fatal(err)
		}
		opts, err := Options{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		s := &search{ctx: context.Background(), fg: g, ranges: Ranges(values), opts: opts, samples: []Sample{{Graph: g, Inputs: in}}}
		a, err := s.try(nil)
		if err != nil {
			t.Fatal(err)
		}
		spreads[i] = a.spread
	}
	if a, b := spreads[0], spreads[1]; a == 0 || math.Abs(a-b) > 0.01*a {
		t.Errorf("spreads of %g and %g", a, b)
	}
}
