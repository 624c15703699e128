package verifier

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDraw compares how often tokens are drawn with their probabilities.
func TestDraw(t *testing.T) {
	logits := []int32{-300, 512, 100, 512, -90000, 0, 256} // in units of 2^−8
	for _, c := range []struct {
		rule Sampling
		kept []int // tokens that may be drawn
	}{
		{Sampling{Seed: 1, Temperature: 1, TopP: 1}, []int{0, 1, 2, 3, 5, 6}},
		{Sampling{Seed: 2, Temperature: 0.5, TopP: 1}, []int{0, 1, 2, 3, 5, 6}},
		{Sampling{Seed: 3, Temperature: 3, TopK: 3, TopP: 1}, []int{1, 3, 6}},
		{Sampling{Seed: -4, Temperature: 1, TopK: 1, TopP: 1}, []int{1}},
		// 0.40, 0.40, 0.15 are the greatest shares.
		{Sampling{Seed: 5, Temperature: 1, TopP: 0.7}, []int{1, 3}},
		{Sampling{Seed: 6, Temperature: 1, TopP: 0.81}, []int{1, 3, 6}},
		{Sampling{Seed: 7, Temperature: 1, TopP: 0.01}, []int{1}},
		{Sampling{Seed: 8, Temperature: 1, TopK: 2, TopP: 0.5}, []int{1}}, // half of what top-k leaves
		{Sampling{Seed: 9, Temperature: 0.01, TopP: 1}, []int{1, 3}},
	} {
		if err := c.rule.Validate(); err != nil {
			t.Fatal(err)
		}
		want, total := make([]float64, len(logits)), 0.0
		for _, i := range c.kept {
			want[i] = math.Exp(float64(logits[i]) / 256 / c.rule.Temperature)
			total += want[i]
		}
		const draws = 20000
		got := make([]int, len(logits))
		for place := range draws {
			got[c.rule.Draw(logits, 8, place)]++
		}
		for i, n := range got {
			// Five deviations.
			share := want[i] / total
			if far := math.Abs(float64(n) - draws*share); far > 5*math.Sqrt(draws*share*(1-share)) {
				t.Errorf("%+v: token %d drawn %d times of %d, its share is %.4f", c.rule, i, n, draws, share)
			}
		}
	}
}

// TestDrawVectors holds tokens that another program drew, in Python's integers and
// decimals of 60 digits (docs/models.md, "Drawing tokens").
func TestDrawVectors(t *testing.T) {
	logits := make([]int32, 1000)
	for i := range logits {
		logits[i] = int32(i*i*7919%20011) - 10000
	}
	for _, c := range []struct {
		rule Sampling
		want []int // at places 5, 6, …
	}{
		{Sampling{Seed: 42, Temperature: 0.8, TopK: 40, TopP: 0.95}, []int{892, 767, 421, 521, 75, 842, 742, 405, 116, 806, 75, 632}},
		{Sampling{Seed: -1, Temperature: 1.5, TopP: 1}, []int{61, 65, 891, 381, 301, 320, 342, 911, 769, 173, 851, 24}},
	} {
		for i, want := range c.want {
			if got := c.rule.Draw(logits, 12, 5+i); got != want {
				t.Errorf("%+v, place %d: %d, want %d", c.rule, 5+i, got, want)
			}
		}
	}
}

func TestSamplingValidate(t *testing.T) {
	good := Sampling{Temperature: 1, TopP: 1}
	for name, change := range map[string]func(s *Sampling){
		"cold":         func(s *Sampling) { s.Temperature = 0 },
		"hot":          func(s *Sampling) { s.Temperature = 101 },
		"no number":    func(s *Sampling) { s.Temperature = math.NaN() },
		"negative k":   func(s *Sampling) { s.TopK = -1 },
		"no share":     func(s *Sampling) { s.TopP = 0 },
		"a large one":  func(s *Sampling) { s.TopP = 1.5 },
		"not a number": func(s *Sampling) { s.TopP = math.NaN() },
	} {
		s := good
		change(&s)
		if s.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	// Any logits: no panic, and a token that there is.
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		logits := make([]int32, 1+rng.IntN(50))
		for i := range logits {
			logits[i] = rng.Int32() >> rng.IntN(32)
		}
		s := Sampling{Seed: rng.Int64(), Temperature: math.Exp(rng.Float64()*9 - 4.6), TopK: rng.IntN(60), TopP: 1 - rng.Float64()}
		if got := s.Draw(logits, rng.IntN(40)-10, rng.IntN(99)); got < 0 || got >= len(logits) {
			t.Errorf("%+v: %d", s, got)
		}
	}
}
