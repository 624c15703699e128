package provemodel

import (
	"math"
	"testing"

	"github.com/prove-model/prove-model/prover/statement"
)

// TestCompareEdges: entries that are off where two scores at the edge of a selection tie are counted as ties, with both; where they
// are further apart, and where an entry is off by less than a tie explains, they count as errors.
func TestCompareEdges(t *testing.T) {
	near, far := statement.Edge{In: 4, Out: 7, Margin: 0.0004}, statement.Edge{In: 1, Out: 2, Margin: 0.3}
	float := Tensor{Name: "p", Shape: []int{3, 2}, Values: []float64{0.2, 0.8, 1, 0, 0.4, 0.6}, Edges: []statement.Edge{near, near, far, far, near, near}}
	for _, c := range []struct {
		values []float64
		ties   int
		off    float64
	}{
		{[]float64{0.4, 0.6, 1, 0, 0.4, 0.6}, 2, 0},
		{[]float64{0.4, 0.6, 1, 0, 0.4005, 0.6}, 2, 0.0005},
		{[]float64{0.2, 0.8, 0.8, 0.2, 0.4, 0.6}, 0, 0.2},
		{[]float64{0.2, 0.8, 1, 0, 0.4, 0.6}, 0, 0},
	} {
		a, err := Compare(Tensor{Name: "p", Shape: float.Shape, Values: c.values}, float)
		if err != nil || a.Ties != c.ties || math.Abs(a.RangeError-c.off) > 1e-12 || a.TieEdge != (c.ties > 0) || a.TieEdge && (a.TieIn != 4 || a.TieOut != 7) {
			t.Errorf("%v: %+v, %v", c.values, a, err)
		}
	}
	label := Tensor{Name: "l", Shape: []int{3}, Values: []float64{1, 0, 1}, Integers: true, Margins: []float64{0.2, 0.5, 0.2}, Edges: []statement.Edge{near, far, near}}
	a, err := Compare(Tensor{Name: "l", Shape: label.Shape, Values: []float64{0, 0, 1}}, label)
	if err != nil || a.Unequal != 1 || a.Ties != 1 || a.Labels != 3 || a.RangeError != 0 {
		t.Errorf("a label at a tie: %+v, %v", a, err)
	}
	if a, err = Compare(Tensor{Name: "l", Shape: label.Shape, Values: []float64{1, 1, 1}}, label); err != nil || a.Unequal != 1 || a.Ties != 0 || a.RangeError == 0 {
		t.Errorf("another label: %+v, %v", a, err)
	}
}
