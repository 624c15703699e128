package families

import (
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// activation is a function of one number with its parameters.
type activation struct {
	f      *graph.Function
	params []float64
	square bool // the result is squared
}

// activations by the names that configurations give them.
var activations = map[string]activation{
	"relu":              {f: graph.Relu},
	"silu":              {f: graph.Swish, params: []float64{1}},
	"swish":             {f: graph.Swish, params: []float64{1}},
	"quick_gelu":        {f: graph.Swish, params: []float64{1.702}},
	"gelu":              {f: graph.Gelu, params: []float64{0}},
	"gelu_new":          {f: graph.Gelu, params: []float64{1}},
	"gelu_fast":         {f: graph.Gelu, params: []float64{1}},
	"gelu_pytorch_tanh": {f: graph.Gelu, params: []float64{1}},
	"gelu_python":       {f: graph.Gelu, params: []float64{0}},
	"gelu_python_tanh":  {f: graph.Gelu, params: []float64{1}},
	"relu2":             {f: graph.Relu, square: true},
	"mish":              {f: graph.Mish},
	"tanh":              {f: graph.Tanh},
}

// activationOf reads the name of an activation from a field of the configuration; def is the name where there is no such field.
func activationOf(c *published, field, def string) activation {
	name := c.Text(field, def)
	a, ok := activations[name]
	if !ok {
		c.Failf("field %q is %q, which is not supported; understood: %s", field, name, strings.Join(sortedKeys(activations), ", "))
	}
	return a
}

func (n *net) activate(a activation, x graph.Value) graph.Value {
	y := n.Apply(a.f, x, a.params...)
	if a.square {
		y = n.Mul(y, y)
	}
	return y
}
