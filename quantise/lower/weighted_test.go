package lower

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// The scale that an accumulator will be rounded to is known of what something reads, and is
// that of the value's range; of an output that nothing reads it is not, as that is not
// rounded, nor of a value without a range.
func TestRoundedScaleIsKnown(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	n := networks.New([]int{3, 8})
	hidden := n.Dense(n.In[0], 8, rng)
	nothing := n.MatMul(n.Mul(n.Apply(graph.Relu, n.In[0]), n.Number(0)), n.Filled([]int{8, 8}, func(int) float64 { return rng.NormFloat64() }))
	both := n.Dense(n.Apply(graph.Relu, hidden), 8, rng)
	last := n.Dense(n.Apply(graph.Relu, both), 8, rng)
	n.Output("both", both)
	n.Output("nothing", n.Apply(graph.Relu, nothing))
	g := n.WithOutput(t, last)
	values, err := g.RunFloat([][]float64{networks.Normal(24, rng)})
	if err != nil {
		t.Fatal(err)
	}
	opts, err := Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l := newLowering(g, Ranges(values), opts, &Memory{}).choose()
	seen := map[bool]int{}
	for _, node := range g.Nodes {
		v := l.values[node.Output]
		frac, ok := l.roundedFrac(v)
		alone := v.output && v.uses == 1
		if want := v.rng.Abs() > 0 && !alone; ok != want {
			t.Errorf("%s: output %v, %d uses, up to %g: a scale is known: %v", v.name, v.output, v.uses, v.rng.Abs(), ok)
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
