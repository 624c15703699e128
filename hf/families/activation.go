package families

import (
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/config"
)

// activation is a function of one number with its parameters.
type activation struct {
	f      *graph.Function
	params []float64
}

// activations by the names that configurations give them.
var activations = map[string]activation{
	"relu":              {graph.Relu, nil},
	"silu":              {graph.Swish, []float64{1}},
	"swish":             {graph.Swish, []float64{1}},
	"quick_gelu":        {graph.Swish, []float64{1.702}},
	"gelu":              {graph.Gelu, []float64{0}},
	"gelu_new":          {graph.Gelu, []float64{1}},
	"gelu_fast":         {graph.Gelu, []float64{1}},
	"gelu_pytorch_tanh": {graph.Gelu, []float64{1}},
	"tanh":              {graph.Tanh, nil},
}

// activationOf reads the field of that name.
func activationOf(c *config.Config, field, def string) activation {
	name := c.Text(field, def)
	a, ok := activations[name]
	if !ok {
		c.Failf("field %q is %q, which is not supported; understood: %s", field, name, strings.Join(sortedKeys(activations), ", "))
	}
	return a
}

func (n *net) activate(a activation, x graph.Value) graph.Value { return n.Apply(a.f, x, a.params...) }
