package quantise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// TestIntegerDivision compares quotients and remainders of integers of all sizes and
// signs with the machine's own: those that one division has, and those in digits.
func TestIntegerDivision(t *testing.T) {
	for _, c := range []struct {
		bits, divisor int // of the operands
		dtype         graph.DType
	}{
		{4, 4, graph.Int32}, {10, 3, graph.Int32}, {12, 12, graph.Int32}, {15, 15, graph.Int16}, {16, 16, graph.Uint16},
		{20, 10, graph.Int32}, {20, 18, graph.Int32}, {26, 3, graph.Int32}, {26, 2, graph.Uint32}, {24, 20, graph.Uint32}, {24, 19, graph.Int32},
	} {
		t.Run(fmt.Sprintf("%d by %d bits, %v", c.bits, c.divisor, c.dtype), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, uint64(c.bits)))
			const n = 300
			x, y := make([]float64, n), make([]float64, n)
			draw := func(bits int, least float64) float64 {
				v := math.Floor(math.Ldexp(rng.Float64(), rng.IntN(bits+1)))
				if rng.IntN(8) == 0 {
					v = math.Ldexp(1, bits) - 1 // the largest one
				}
				v = max(v, least)
				if rng.IntN(2) == 0 && c.dtype != graph.Uint16 && c.dtype != graph.Uint32 {
					return -v
				}
				return v
			}
			for i := range x {
				x[i], y[i] = draw(c.bits, 0), draw(c.divisor, 1)
			}
			b := graph.NewBuilder("division")
			vx, vy := b.Input("x", c.dtype, []int{n}), b.Input("y", c.dtype, []int{n})
			b.Output("quotient", b.Div(vx, vy))
			b.Output("mod", b.Mod(vx, vy, false))
			b.Output("fmod", b.Mod(vx, vy, true))
			g, err := b.Graph()
			if err != nil {
				t.Fatal(err)
			}
			_, _, got, _ := run(t, g, [][]float64{x, y}, Options{})
			for i := range x {
				a, d := int64(x[i]), int64(y[i])
				mod := a % d
				if mod != 0 && (mod < 0) != (d < 0) {
					mod += d
				}
				for k, want := range []int64{a / d, mod, a % d} {
					if got[k][i] != float64(want) {
						t.Fatalf("output %d of %d and %d is %g instead of %d", k, a, d, got[k][i], want)
					}
				}
			}
		})
	}
}

// TestRoundedQuotients: RoundDiv is off by one where its operands' scales cannot tell, which
// is seldom, and 0 of 0 by 0.
func TestRoundedQuotients(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	const n = 400
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		y[i] = float64(1 + rng.IntN(512))
		x[i] = math.Floor((2*rng.Float64()-1)*y[i]*16) / 16
	}
	x[0], y[0], x[1], y[1] = 0, 0, 1, 510 // the second half-way between 0 and 1
	b := graph.NewBuilder("quotients")
	b.Output("q", b.RoundDiv(b.Input("x", graph.Float, []int{n}), b.Input("y", graph.Float, []int{n}), 255))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	formats := Formats{}
	for _, node := range g.Nodes {
		formats[node.Output] = Format{Bits: 26}
	}
	_, _, got, _ := run(t, g, [][]float64{x, y}, Options{Formats: formats})
	off := 0
	for i := range x {
		want := 0.0
		if y[i] > 0 {
			num, den := int64(x[i]*16)*510+int64(y[i]*16), int64(y[i]*32)
			want = float64(flooredQuotient(num, den))
		}
		if d := math.Abs(got[0][i] - want); d > 1 {
			t.Fatalf("255·%g/%g is %g instead of %g", x[i], y[i], got[0][i], want)
		} else if d > 0 {
			off++
		}
	}
	if off > n/100 {
		t.Errorf("%d of %d are off by one", off, n)
	}
}

// flooredQuotient is ⌊a/b⌋, b > 0.
func flooredQuotient(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// TestDividendsWithoutZero: where no dividend is 0, as in a constant divided by a computed number, the quotient nearest to 0 is that by the
// greatest divisor.
func TestDividendsWithoutZero(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(8, 9))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = float64(rng.IntN(256)), float64(1+rng.IntN(200))
	}
	for _, add := range []float64{1000, -1000, 2_000_000, -2_000_000} {
		b := graph.NewBuilder("division")
		vx, vy := b.Input("x", graph.Int32, []int{n}), b.Input("y", graph.Uint8, []int{n})
		wide := b.Cast(vy, graph.Int32)
		c := b.Constant("c", &graph.Tensor{DType: graph.Int32, Shape: []int{1}, I64: []int64{int64(add)}})
		b.Output("sum", b.Div(b.Add(vx, c), wide))
		b.Output("constant", b.Div(c, wide))
		b.Output("mod", b.Mod(b.Add(vx, c), wide, false))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		_, _, got, _ := run(t, g, [][]float64{x, y}, Options{})
		for i := range x {
			a, d := int64(x[i]+add), int64(y[i])
			for k, want := range []int64{a / d, int64(add) / d, (a%d + d) % d} {
				if got[k][i] != float64(want) {
					t.Fatalf("output %d of %d and %d is %g instead of %d", k, a, d, got[k][i], want)
				}
			}
		}
	}
}

// TestRescaledHalves: whole numbers times a factor are rounded to the even number where they are half-way between two.
func TestRescaledHalves(t *testing.T) {
	x := make([]float64, 256)
	for i := range x {
		x[i] = float64(i - 128)
	}
	for _, factor := range []float64{0.5, 0.25, 1. / 128, 1. / 256, 1. / 512, 0.75, 1.5, 2, 5. / 64, float64(float32(1) / 3)} {
		b := graph.NewBuilder("rescaled")
		v := b.Cast(b.Input("x", graph.Int8, []int{len(x)}), graph.Float)
		b.Output("y", b.Rescale(v, factor))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"auto", "w8a8", "exact"} {
			_, _, got, _ := run(t, g, [][]float64{x}, Options{Mode: mode})
			for i, v := range x {
				if want := math.RoundToEven(v * factor); got[0][i] != want {
					t.Fatalf("%s: %g·%g is %g, not %g", mode, v, factor, got[0][i], want)
				}
			}
		}
	}
}
