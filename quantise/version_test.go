package quantise

import (
	"math"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/lower"
)

// TestRangeOfNone: what has no values, or none that are finite, has the range of 0 alone.
func TestRangeOfNone(t *testing.T) {
	b := graph.NewBuilder("test")
	b.Output("y", b.ExtendedInput("x", graph.Float, graph.AllNumbers, []int{2}))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	infinite := map[string][]float64{"x": {math.NaN(), math.Inf(1)}, "empty": {}}
	for _, name := range []string{"x", "empty"} {
		if r := RangesOf(g, infinite, infinite)[name]; r != (Range{}) {
			t.Errorf("%s: %v", name, r)
		}
		if r := RangeIn(g, name, infinite[name]).Union(lower.NewRange([]float64{2, 3})).Rounded(); r != (Range{Min: 2, Max: 3, Least: 2}) {
			t.Errorf("%s and others: %v", name, r)
		}
		if r := RangeIn(g, name, infinite[name]).Rounded(); r != (Range{}) {
			t.Errorf("%s, rounded: %v", name, r)
		}
	}
}
