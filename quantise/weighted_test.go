package quantise

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// The scale that an accumulator will be rounded to is known of what something reads, and is
// that of the value's range; of an output that nothing reads it is not, as that is not
// rounded, nor of a value without a range.
func TestRoundedScaleIsKnown(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	n := newNetwork([]int{3, 8})
	hidden := n.dense(n.in[0], 8, rng)
	nothing := n.MatMul(n.Mul(n.Apply(graph.Relu, n.in[0]), n.Number(0)), n.constant([]int{8, 8}, func(int) float64 { return rng.NormFloat64() }))
	both := n.dense(n.Apply(graph.Relu, hidden), 8, rng)
	last := n.dense(n.Apply(graph.Relu, both), 8, rng)
	n.Output("both", both)
	n.Output("nothing", n.Apply(graph.Relu, nothing))
	g := n.graph(t, last)
	values, err := g.RunFloat([][]float64{normal(24, rng)})
	if err != nil {
		t.Fatal(err)
	}
	opts, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLowering(g, Ranges(values), opts, &weightStats{}).choose()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[bool]int{}
	for _, node := range g.Nodes {
		v := l.values[node.Output]
		frac, ok := l.roundedFrac(v)
		alone := v.output && v.uses == 1
		if want := v.rng.abs() > 0 && !alone; ok != want {
			t.Errorf("%s: output %v, %d uses, up to %g: a scale is known: %v", v.name, v.output, v.uses, v.rng.abs(), ok)
		}
		if ok && (frac < 0 || frac > 30) {
			t.Errorf("%s: scale %d", v.name, frac)
		}
		seen[ok]++
	}
	if seen[true] < 4 || seen[false] < 3 || !l.values["both"].output || l.values["both"].uses < 2 {
		t.Errorf("the model has not all cases: %v", seen)
	}
}

// What is clamped of a node is the sum over all its look-ups: here of the divisor's
// magnitude and of the quotient.
func TestSaturationAddsUp(t *testing.T) {
	n := newNetwork([]int{4}, []int{4})
	g := n.graph(t, n.Div(n.in[0], n.in[1]))
	m, _, _, _ := run(t, g, [][]float64{{1, -2, 3, 4}, {1, 2, -1, 2}}, Options{})
	w := runChecked(t, m, [][]float64{{1, -8, 8, 4}, {1, 1e-9, -1e-9, 2}})
	steps := 0
	for _, c := range m.clamps {
		if len(c.rows) > 0 {
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
