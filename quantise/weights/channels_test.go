package weights

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/quantise/fixed"
)

// What channels together say is what each says alone, asked for once or again, at every
// scale and for every operand.
func TestChannels(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, alike := range []bool{false, true} {
		testChannels(t, rng, alike)
	}
}

// testChannels tests channels that are alike in that none is as large as another one in everything, or are not.
func testChannels(t *testing.T, rng *rand.Rand, alike bool) {
	list := make([]channelStats, 3000)
	for i := range list {
		row := make([]float32, 7)
		if alike {
			row[0], row[1] = float32(i)/4096, float32(i)/4096-1
			list[i].add(row)
			continue
		}
		for j := range row {
			row[j] = float32(rng.NormFloat64() * math.Exp(rng.NormFloat64()))
		}
		if i%10 > 0 { // others are zero
			list[i].add(row)
		}
	}
	c := newChannels(list, false)
	if few := len(c.greatest) < 100; few == alike {
		t.Errorf("%d of the channels are the greatest", len(c.greatest))
	}
	var largest []float64
	var most, sum float64
	for _, s := range list {
		most, sum = math.Max(most, s.max), math.Max(sum, s.pos+s.neg)
		if s.max > 0 {
			largest = append(largest, s.max)
		}
	}
	slices.Sort(largest)
	if c.Most != most || c.Sum != sum || c.Median != largest[len(largest)/2] {
		t.Errorf("largest %g, sum %g, median %g", c.Most, c.Sum, c.Median)
	}
	operands := []OperandBounds{{Lo: -5, Hi: 3, Count: 7}, {Lo: 0, Hi: 3, Count: 7}, {Lo: -5, Hi: 3, Norm: 2, Count: 7}}
	for _, bits := range []int{8, 16} {
		for _, frac := range []int{4, 11} {
			scaled := c.ScaledBy(frac, bits)
			var exponents []int
			size, most, whole := 0.0, int64(0), true
			for i := range list {
				s, e := &list[i], 0
				if s.max > 0 {
					e = max(0, fixed.FloorLog2(s.max*fixed.Pow2(frac))+2-bits)
				}
				exponents, whole = append(exponents, e), whole && e == 0
				size = math.Max(size, s.max*fixed.Pow2(frac)+fixed.Pow2(e))
				most = max(most, RoundedTo(s.max, frac, e))
			}
			if s, m, w := scaled.Rounded(); s != size || m != most || w != whole {
				t.Errorf("%d bits, scale %d: %v, %v, %v", bits, frac, s, m, w)
			}
			if got := scaled.Exponents(); !slices.Equal(got, exponents) {
				t.Errorf("%d bits, scale %d: exponents %v", bits, frac, got)
			}
			for _, x := range operands {
				var want Reach
				for i := range list {
					r := list[i].reach(frac, exponents[i], x)
					want = Reach{math.Max(want.Down, r.Down), math.Max(want.Up, r.Up)}
				}
				if r := scaled.Reach(x); r != want || r.Most() != math.Max(want.Down, want.Up) {
					t.Errorf("%d bits, scale %d, %+v: reach %g, not %g", bits, frac, x, r, want)
				}
				every := Scaled{&Channels{greatest: list}, frac, bits}
				if r, want := scaled.ReachOfAll(x), every.ReachOfAll(x); r != want {
					t.Errorf("%d bits, scale %d, %+v: reach of all %g, not %g", bits, frac, x, r, want)
				}
			}
		}
	}
}
