package precision

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Weights of which half the channels have few bits, as a few are far larger, are seen before
// they are made, and get all bits that there are from the first attempt on.
func TestAmple(t *testing.T) {
	everyLarge(t)
	for _, larger := range []float64{1, 4000} {
		rng := rand.New(rand.NewPCG(3, 1))
		n := networks.New([]int{1, 12, 32})
		x := n.In[0]
		add := func(k int, factor float64) {
			w := n.Filled([]int{k, 32}, func(i int) float64 {
				v := rng.NormFloat64() / math.Sqrt(float64(k))
				if i%32 == 5 {
					v *= factor
				}
				return v
			})
			h := n.Normed(x, rng)
			if k > 32 {
				h = n.Dense(h, k, rng)
				h = n.Mul(n.Dense(n.Normed(x, rng), k, rng), h)
			}
			x = n.Add(x, n.MatMul(h, w))
		}
		add(512, larger)
		add(512, larger)
		g := n.WithOutput(t, n.Normed(x, rng))
		in := [][]float64{networks.Normal(12*32, rng)}
		values, err := g.RunFloat(in)
		if err != nil {
			t.Fatal(err)
		}
		opts, err := lower.Options{}.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		s := &search{ctx: t.Context(), fg: g, ranges: lower.Ranges(values), opts: opts, samples: []Sample{{Graph: g, Inputs: in}}, groups: alike(g)}
		plain := s.usual(0, 0)
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
		_, c, err := Choose(t.Context(), g, []Sample{{Graph: g, Inputs: in}}, lower.Ranges(values), lower.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c.Error > lower.Target {
			t.Errorf("channels larger by %g: error %g", larger, c.Error)
		}
	}
}

// What is large is a matter of weights and norms.
func TestLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	with, without := networks.Transformer(t, 1, rng), networks.Tabular(t, rng)
	if large(with) || large(without) {
		t.Error("small models are large")
	}
	everyLarge(t)
	if !large(with) || large(without) {
		t.Error("a model without norms is large, or one with them is not")
	}
}

// Moves begin where the largest errors enter, and go on until those that are left are few
// enough for the target: more for a stricter one.
func TestEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	g := networks.Transformer(t, 2, rng)
	x := [][]float64{networks.Normal(12*32, rng)}
	values, err := g.RunFloat(x)
	if err != nil {
		t.Fatal(err)
	}
	opts, err := lower.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := &search{ctx: t.Context(), fg: g, ranges: lower.Ranges(values), opts: opts, samples: []Sample{{Graph: g, Inputs: x}}, groups: alike(g)}
	defer s.arena.Close()
	a, err := s.try(nil)
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for _, e := range []float64{lower.Target / 2, 2 * lower.Target, 20 * lower.Target, 1e6 * lower.Target} {
		a.error = e
		moves := s.enough(a, nil)
		if len(moves) < before || e < lower.Target != (len(moves) == 0) {
			t.Errorf("%d moves for an error of %g, %d for a smaller one", len(moves), e, before)
		}
		before = len(moves)
		refused := map[move]bool{}
		for _, mv := range moves {
			refused[mv] = true
		}
		for _, mv := range s.enough(a, refused) {
			if refused[mv] {
				t.Errorf("%+v was refused", mv)
			}
		}
	}
	if before < 3 {
		t.Errorf("%d moves at most", before)
	}
}

// The steps of a group end.
func TestMuch(t *testing.T) {
	for _, g := range []group{{product: true}, {sum: true}, {}} {
		for _, weights := range []bool{false, true} {
			f, n := lower.Format{}, 0
			for next := g.much(f, weights); next != f; next = g.much(f, weights) {
				if _, err := (lower.Options{Formats: lower.Formats{"x": next}}).WithDefaults(); err != nil {
					t.Fatal(err)
				}
				f = next
				if n++; n > 4 {
					t.Fatalf("%+v: no end", f)
				}
			}
			if weights != (f.Bits == 0) || weights && f.Weights != lower.FormatWeights {
				t.Errorf("%+v", f)
			}
		}
	}
}

// everyLarge has every transformer be large until the test ends.
func everyLarge(t *testing.T) {
	before := lower.ManyWeights
	lower.ManyWeights = 1
	t.Cleanup(func() { lower.ManyWeights = before })
}
