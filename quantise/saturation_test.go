package quantise

import (
	"testing"

	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// What is clamped of a node is the sum over all its look-ups: here of the divisor's
// magnitude and of the quotient.
func TestSaturationAddsUp(t *testing.T) {
	n := networks.New([]int{4}, []int{4})
	g := n.WithOutput(t, n.Div(n.In[0], n.In[1]))
	m, _, _, _ := run(t, g, [][]float64{{1, -2, 3, 4}, {1, 2, -1, 2}}, Options{})
	w := runChecked(t, m, [][]float64{{1, -8, 8, 4}, {1, 1e-9, -1e-9, 2}})
	steps := 0
	for _, c := range m.Clamps {
		if len(c.Rows) > 0 {
			steps++
		}
	}
	all := m.Saturation(w)
	if len(all) != 1 || steps < 2 {
		t.Fatalf("%d look-ups that clamp, and %v", steps, all)
	}
	for node, s := range all {
		if s != (Saturated{Count: 4, Of: 8}) { // 2 divisors and their quotients
			t.Errorf("%s: %+v", node, s)
		}
	}
}
