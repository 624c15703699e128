package quantise

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// TestComputedStepsAreConstrained: no key can hold what these circuits compute (roots
// from leading bits, means by long division, digits with carries, limbs, quotients)
// without every one of the steps that keep it from being anything else. Each of these
// in turn is made to say nothing.
func TestComputedStepsAreConstrained(t *testing.T) {
	wide := func(n networks.Network) graph.Value {
		return n.MatMul(n.Mul(n.In[0], n.In[1]), n.Filled([]int{70, 70}, func(i int) float64 { return float64(i*i%17) - 8 }))
	}
	for name, c := range map[string]struct {
		build   func(n networks.Network) graph.Value
		formats func(g *graph.Graph) Formats
	}{
		"LayerNorm": {func(n networks.Network) graph.Value {
			return n.Norm(graph.Norm{Axes: []int{1}, Centred: true, Epsilon: 1e-5}, n.In[0])
		}, nil},
		"norm":     {func(n networks.Network) graph.Value { return n.Norm(graph.Norm{Axes: []int{1}, Sum: true}, n.In[0]) }, nil},
		"Softmax":  {func(n networks.Network) graph.Value { return n.Softmax(n.In[0], 1) }, nil},
		"quotient": {func(n networks.Network) graph.Value { return n.Div(n.In[0], n.In[1]) }, nil},
		"remainder": {func(n networks.Network) graph.Value {
			return n.Mod(n.In[0], n.Filled([]int{1}, func(int) float64 { return 1. / 4096 }), false)
		}, nil},
		"bits": {func(n networks.Network) graph.Value {
			x := n.Cast(n.Apply(graph.Abs, n.Mul(n.In[0], n.Filled([]int{1}, func(int) float64 { return 100 }))), graph.Uint8)
			return n.Bitwise(graph.And, x, n.Cast(n.Apply(graph.Abs, n.In[1]), graph.Uint8))
		}, nil},
		"limbs": {wide, func(g *graph.Graph) Formats {
			f := Formats{}
			for _, node := range g.Nodes {
				f[node.Output] = Format{Bits: 22}
			}
			return f
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n := networks.New([]int{2, 70}, []int{2, 70})
			g := n.WithOutput(t, c.build(n))
			rng := rand.New(rand.NewPCG(1, 3))
			in := make([][]float64, len(g.Inputs))
			for i := range in {
				for range 140 {
					in[i] = append(in[i], (1+rng.Float64())*float64(1-2*rng.IntN(2)))
				}
			}
			var opts Options
			if c.formats != nil {
				opts.Formats = c.formats(g)
			}
			m, _, _, _ := run(t, g, in, opts)
			if err := m.Circuit.Validate(); err != nil {
				t.Fatal(err)
			}
			refused := 0
			for i := range m.Circuit.Graph.Steps {
				bare := *m.Circuit.Graph
				bare.Steps = slices.Clone(bare.Steps)
				s := &bare.Steps[i]
				if s.Out != model.None || s.Kind != model.StepZero && s.Kind != model.StepLookup {
					continue
				}
				said := s.Acc
				s.Acc = model.Acc{}
				if s.Kind == model.StepLookup {
					s.Acc.Const = bare.Tables[s.Table].Min
				}
				if err := (&model.Template{Graph: &bare}).Validate(); err != nil {
					refused++
					continue
				}
				if s.Lo != model.None {
					continue // it computes: a digit that is 0 now, and is kept there
				}
				if !slices.ContainsFunc(bare.Steps, func(o model.Step) bool {
					return o.Kind == model.StepLookup && reflect.DeepEqual(o.Acc, said) && o.Shift+bare.Tables[o.Table].Bits <= s.Shift+bare.Tables[s.Table].Bits
				}) {
					t.Errorf("step %d (%s) says nothing, and the key holds", i, s.Name)
				}
			}
			if refused == 0 {
				t.Error("nothing was to refuse")
			}
			t.Logf("%d of %d steps constrain others", refused, len(m.Circuit.Graph.Steps))
		})
	}
}
