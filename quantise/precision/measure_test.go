package precision

import (
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
