package open

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMerged: what segments want is what they want merged, of no more than five products for four, and
// merged ones cost no more. Few rows at each place, with groups that are mostly the same, are one product.
func TestMerged(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for range 300 {
		n := 1 + rng.IntN(60)
		d := &DotTable{n: n, before: make([]int, n+1)}
		for l := range n {
			d.before[l+1] = d.before[l] + rng.IntN(1+rng.IntN(40))
		}
		groups := make([][]placeRun, 1+rng.IntN(30))
		wanted := make([][]bool, len(groups))
		for g := range groups {
			wanted[g] = make([]bool, n)
			for from := rng.IntN(n); from < n; {
				to := min(n, from+1+rng.IntN(20))
				groups[g] = append(groups[g], placeRun{from: from, to: to})
				for l := from; l < to; l++ {
					wanted[g][l] = true
				}
				from = to + 1 + rng.IntN(30)
			}
		}
		apart := segments(groups)
		some := d.merged(apart)
		before, after, products, all := 0.0, 0.0, 0, 0
		for _, s := range apart {
			before += productCost(len(s.of), d.planes(s))
			all += len(s.of) * (s.to - s.from)
		}
		end := 0
		for _, s := range some {
			if s.from < end || s.to <= s.from || !slices.IsSorted(s.of) || len(slices.Compact(slices.Clone(s.of))) < len(s.of) {
				t.Fatalf("segment %+v after %d", s, end)
			}
			end = s.to
			after += productCost(len(s.of), d.planes(s))
			products += len(s.of) * (s.to - s.from)
			for _, g := range s.of {
				for l := s.from; l < s.to; l++ {
					wanted[g][l] = false
				}
			}
		}
		for g := range wanted {
			if slices.Contains(wanted[g], true) {
				t.Fatalf("group %d lacks products", g)
			}
		}
		if after > before*(1+1e-9) || 4*products > mostProducts*all {
			t.Errorf("cost %v, merged %v; %d products, merged %d", before, after, all, products)
		}
	}
	// Forty groups at each of sixty places with six planes each, one of which ends every place.
	d := &DotTable{n: 60, before: make([]int, 61)}
	var groups [][]placeRun
	for g := range 39 {
		groups = append(groups, []placeRun{{from: 0, to: 60 - g/20}})
	}
	for l := range 60 {
		d.before[l+1] = 6 * (l + 1)
		groups = append(groups, []placeRun{{from: l, to: l + 1}})
	}
	if apart, some := segments(groups), d.merged(segments(groups)); len(apart) < 60 || len(some) > 10 {
		t.Errorf("%d segments, merged %d", len(apart), len(some))
	}
}
