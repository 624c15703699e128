package graph

import (
	"math"
	"testing"
)

// TestToSmall compares casts to small floats, of constants and computed ones, with the
// nearest of all numbers that the type has.
func TestToSmall(t *testing.T) {
	for dt, f := range smallFormats {
		// All numbers of the type that are not negative, the last digits of which take turns.
		var all []float64
		unit := math.Ldexp(1, f.least-f.mantissa)
		for x := 0.0; x <= f.most; x += unit {
			if x >= math.Ldexp(unit, f.mantissa+1) {
				unit *= 2
			}
			all = append(all, x)
		}
		nearest := func(x float64) float64 {
			best := 0
			for i, y := range all {
				if d, e := math.Abs(math.Abs(x)-y), math.Abs(math.Abs(x)-all[best]); d < e || d == e && i%2 == 0 {
					best = i
				}
			}
			return math.Copysign(all[best], x)
		}
		var x []float64
		for i, y := range all {
			x = append(x, y, -y)
			if i > 0 {
				half := (y + all[i-1]) / 2
				x = append(x, half, -half, half*(1+1e-6), -half*(1-1e-6))
			}
		}
		x = append(x, 2*f.most, -1e6)
		b := NewBuilder("small")
		b.Output("y", b.Cast(b.Input("x", Float, []int{len(x)}), dt))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		run, err := g.RunFloat([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			if want := nearest(v); run["y"][i] != want || f.at(v) != want {
				t.Fatalf("%v: %g becomes %g, or %g as a constant, instead of %g", dt, v, run["y"][i], f.at(v), want)
			}
		}
	}
}
