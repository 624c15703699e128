package quantise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// What channels together say is what each says alone, asked for once or again, at every
// scale and for every operand.
func TestChannels(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	list := make([]channelStats, 3000)
	for i := range list {
		row := make([]float32, 7)
		for j := range row {
			row[j] = float32(rng.NormFloat64() * math.Exp(rng.NormFloat64()))
		}
		if i%10 > 0 { // others are zero
			list[i].add(row)
		}
	}
	c := newChannels(list)
	var largest []float64
	var most, sum float64
	for _, s := range list {
		most, sum = math.Max(most, s.max), math.Max(sum, s.pos+s.neg)
		if s.max > 0 {
			largest = append(largest, s.max)
		}
	}
	slices.Sort(largest)
	if c.most != most || c.sum != sum || c.medianOf() != largest[len(largest)/2] || c.medianOf() != largest[len(largest)/2] {
		t.Errorf("largest %g, sum %g, median %g", c.most, c.sum, c.medianOf())
	}
	operands := []operandBounds{{lo: -5, hi: 3, count: 7}, {lo: 0, hi: 3, count: 7}, {lo: -5, hi: 3, norm: 2, count: 7}}
	for _, bits := range []int{8, 16} {
		l := &lowering{opts: Options{WeightBits: bits}}
		for range 2 {
			for _, frac := range []int{4, 11} {
				scaled := l.scaledBy(c, frac)
				want := rounding{whole: true}
				for i := range list {
					s, e := &list[i], 0
					if s.max > 0 {
						e = max(0, floorLog2(s.max*pow2(frac))+2-bits)
					}
					want.exponents, want.whole = append(want.exponents, e), want.whole && e == 0
					want.size = math.Max(want.size, s.max*pow2(frac)+pow2(e))
					want.most = max(want.most, roundedTo(s.max, frac, e))
				}
				r := scaled.rounded()
				if !slices.Equal(r.exponents, want.exponents) || r.size != want.size || r.most != want.most || r.whole != want.whole {
					t.Errorf("%d bits, scale %d: %v, %v, %v", bits, frac, r.size, r.most, r.whole)
				}
				for _, x := range operands {
					var down, up float64
					for i := range list {
						d, u := list[i].reach(frac, want.exponents[i], x)
						down, up = math.Max(down, d), math.Max(up, u)
					}
					if d, u := scaled.reach(x); d != down || u != up || scaled.bound(x) != math.Max(down, up) {
						t.Errorf("%d bits, scale %d, %+v: reach %g and %g, not %g and %g", bits, frac, x, d, u, down, up)
					}
					down, up = reachOfAll(list, frac, want.exponents, x)
					if d, u := scaled.reachOfAll(x); d != down || u != up {
						t.Errorf("%d bits, scale %d, %+v: reach of all %g and %g, not %g and %g", bits, frac, x, d, u, down, up)
					}
				}
			}
		}
	}
}

// Weights of which half the channels have few bits, as a few are far larger, are seen before
// they are made, and get all bits that there are from the first attempt on.
func TestAmple(t *testing.T) {
	allLarge(t)
	for _, larger := range []float64{1, 4000} {
		rng := rand.New(rand.NewPCG(3, 1))
		n := newNetwork([]int{1, 12, 32})
		x := n.in[0]
		add := func(k int, factor float64) {
			w := n.constant([]int{k, 32}, func(i int) float64 {
				v := rng.NormFloat64() / math.Sqrt(float64(k))
				if i%32 == 5 {
					v *= factor
				}
				return v
			})
			h := n.layerNorm(x, rng)
			if k > 32 {
				h = n.dense(h, k, rng)
				h = n.Mul(n.dense(n.layerNorm(x, rng), k, rng), h)
			}
			x = n.Add(x, n.MatMul(h, w))
		}
		add(512, larger)
		add(512, larger)
		g := n.graph(t, n.layerNorm(x, rng))
		in := [][]float64{normal(12*32, rng)}
		values, err := g.RunFloat(in)
		if err != nil {
			t.Fatal(err)
		}
		opts, err := Options{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		s := &search{ctx: t.Context(), fg: g, ranges: Ranges(values), opts: opts, samples: []Sample{{Graph: g, Inputs: in}}, groups: alike(g)}
		if err := s.runFloat(1); err != nil {
			t.Fatal(err)
		}
		plain := transformerPrior(g, 0, s.needs())
		f, finer := s.widenWeights(plain), 0
		for name := range f {
			if f[name].Weights > plain[name].Weights {
				finer++
			}
		}
		t.Logf("channels larger by %g: %d finer", larger, finer)
		if s.runs != 0 || (finer > 0) != (larger > 1) {
			t.Errorf("channels larger by %g: %d values are finer, after %d runs", larger, finer, s.runs)
		}
		_, c := fewOf(t, g, in, Target)
		if c.Error > Target {
			t.Errorf("channels larger by %g: error %g", larger, c.Error)
		}
	}
}
