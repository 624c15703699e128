package precision

import (
	"math"
	"slices"
	"testing"
)

// Every sample is run once, the hardest first where an attempt may stop early.
func TestOrder(t *testing.T) {
	s := &search{samples: make([]Sample, MostSamples)}
	for s.worst = range s.samples {
		for _, stops := range []bool{false, true} {
			order := s.order(stops)
			if first := order[0]; stops && first != s.worst || !stops && first != 0 {
				t.Errorf("sample %d first, and %d was the hardest", first, s.worst)
			}
			if slices.Sort(order); !slices.Equal(order, []int{0, 1, 2, 3}) {
				t.Errorf("samples %v", order)
			}
		}
	}
}

// TestDivergenceOfExcludedTokens: a token that the float model excludes by a logit of −∞ adds nothing to the divergence. One that only
// the integers exclude makes it infinite.
func TestDivergenceOfExcludedTokens(t *testing.T) {
	none := math.Inf(-1)
	want := Divergence([]float64{1, 0, 2}, []float64{1, 0.5, 2}, 3)
	if d := Divergence([]float64{1, none, 0, 2}, []float64{1, none, 0.5, 2}, 4); math.Abs(d-want) > 1e-12 {
		t.Errorf("excluded by both: %v, not %v", d, want)
	}
	if d := Divergence([]float64{1, 0, 2}, []float64{1, none, 2}, 3); !(d > 0.09 && d < 0.1) {
		t.Errorf("excluded by the float model: %v", d)
	}
	if d := Divergence([]float64{1, none, 2}, []float64{1, 0, 2}, 3); !math.IsInf(d, 1) {
		t.Errorf("excluded by the integers: %v", d)
	}
}
