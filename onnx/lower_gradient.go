package onnx

import (
	"maps"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// lowerGradient computes the gradient of a value y of one element with respect to values xs of the model. It goes back through the
// nodes between them, each of which has a rule (backRules). Attributes name y and xs.
func lowerGradient(o *op) {
	xs, y, zs := o.stringsAttr("xs"), o.strAttr("y", ""), o.stringsAttr("zs")
	if len(xs) == 0 || !slices.Equal(o.proto.Input, slices.Concat(xs, zs)) {
		o.failf("its inputs are %v, and it is of %v: of other numbers than those in the model it is not supported", o.proto.Input, slices.Concat(xs, zs))
	}
	o.failIf(graph.Size(o.shape(o.values[y])) != 1,
		"%s has shape %v; a gradient is of one number", graph.Quote(y), o.shape(o.values[y]))
	by := map[string]bool{} // values that depend on xs
	for _, x := range xs {
		by[x] = true
	}
	depends := func(name string) bool { return by[name] }
	var between []*onnxpb.NodeProto
	for _, n := range o.file.nodes {
		if n == o.proto {
			break
		}
		if slices.ContainsFunc(n.Input, depends) && !slices.ContainsFunc(n.Output, func(out string) bool { return slices.Contains(xs, out) }) {
			between = append(between, n)
			for _, out := range n.Output {
				by[out] = true
			}
		}
	}
	if o.file.inner.written += len(between); o.file.inner.written > maxWritten {
		o.failf("gradients, and bodies of loops and branches, go through more than %d nodes", maxWritten)
	}
	one := o.Fill(o.shape(o.values[y]), &graph.Tensor{DType: graph.Float, F32: []float32{1}, Public: true})
	gradients := map[string]graph.Value{y: one}
	for _, n := range slices.Backward(between) {
		g, ok := gradients[n.Output[0]]
		if !ok || slices.Contains(xs, n.Output[0]) {
			continue
		}
		for i, to := range o.back(n, g) {
			name := n.Input[i]
			if !by[name] {
				continue
			}
			if to = o.summedTo(to, o.shape(o.values[name])); gradients[name] != (graph.Value{}) {
				to = o.Add(gradients[name], to)
			}
			gradients[name] = to
		}
	}
	for i, x := range xs {
		g, ok := gradients[x]
		if !ok {
			g = o.Fill(o.shape(o.values[x]), &graph.Tensor{DType: graph.Float, F32: []float32{0}, Public: true})
		}
		o.result(i, g)
	}
}

// backRules has, for each operator that a gradient goes back through, a function that returns the gradients of its inputs, from the
// gradient g of its output, the output y and the inputs. They may have the shape of the output (see summedTo).
var backRules = map[string]func(o *op, g, y graph.Value, in []graph.Value) []graph.Value{
	"Identity": func(o *op, g, _ graph.Value, _ []graph.Value) []graph.Value { return []graph.Value{g} },
	"Neg":      func(o *op, g, _ graph.Value, _ []graph.Value) []graph.Value { return []graph.Value{o.Negative(g)} },
	"Add":      func(o *op, g, _ graph.Value, _ []graph.Value) []graph.Value { return []graph.Value{g, g} },
	"Sub":      func(o *op, g, _ graph.Value, _ []graph.Value) []graph.Value { return []graph.Value{g, o.Negative(g)} },
	"Mul": func(o *op, g, _ graph.Value, in []graph.Value) []graph.Value {
		return []graph.Value{o.Mul(g, in[1]), o.Mul(g, in[0])}
	},
	"Div": func(o *op, g, y graph.Value, in []graph.Value) []graph.Value {
		part := o.Div(g, in[1])
		return []graph.Value{part, o.Negative(o.Mul(part, y))}
	},
	"MatMul": func(o *op, g, _ graph.Value, in []graph.Value) []graph.Value {
		o.failIf(len(o.shape(in[0])) != 2 || len(o.shape(in[1])) != 2,
			"the gradient of a MatMul of shapes %v and %v is not supported, but of matrices", o.shape(in[0]), o.shape(in[1]))
		turned := []int{1, 0}
		return []graph.Value{o.MatMul(g, o.Transpose(in[1], turned)), o.MatMul(o.Transpose(in[0], turned), g)}
	},
	"Exp": func(o *op, g, y graph.Value, _ []graph.Value) []graph.Value { return []graph.Value{o.Mul(g, y)} },
	"Log": func(o *op, g, _ graph.Value, in []graph.Value) []graph.Value { return []graph.Value{o.Div(g, in[0])} },
	"Sqrt": func(o *op, g, y graph.Value, _ []graph.Value) []graph.Value {
		return []graph.Value{o.Div(o.Mul(g, o.Number(0.5)), y)}
	},
	"Tanh": func(o *op, g, y graph.Value, _ []graph.Value) []graph.Value {
		return []graph.Value{o.Mul(g, o.Sub(o.Number(1), o.Mul(y, y)))}
	},
	"Sigmoid": func(o *op, g, y graph.Value, _ []graph.Value) []graph.Value {
		return []graph.Value{o.Mul(g, o.Mul(y, o.Sub(o.Number(1), y)))}
	},
	"Relu": func(o *op, g, _ graph.Value, in []graph.Value) []graph.Value {
		return []graph.Value{o.Where(o.Compare(graph.Greater, in[0], o.Number(0)), g, o.Number(0))}
	},
}

// back returns the gradients of a node's inputs, from the gradient g of its output.
func (o *op) back(n *onnxpb.NodeProto, g graph.Value) []graph.Value {
	rule := backRules[n.GetOpType()]
	if rule == nil || !standardDomain(n.GetDomain()) || len(n.Attribute) > 0 || len(n.Output) != 1 {
		o.failf("the gradient of %s is not supported; of %s it is", operatorName(n), strings.Join(slices.Sorted(maps.Keys(backRules)), ", "))
	}
	in := make([]graph.Value, len(n.Input))
	for i, name := range n.Input {
		in[i] = o.values[name]
		o.shape(in[i])
	}
	return rule(o, g, o.values[n.Output[0]], in)
}

// summedTo sums a gradient along the axes along which a value of the given shape was
// broadcast.
func (o *op) summedTo(x graph.Value, shape []int) graph.Value {
	from := o.shape(x)
	var axes []int
	lead := len(from) - len(shape)
	for i, d := range from {
		if i < lead || shape[i-lead] == 1 && d != 1 {
			axes = append(axes, i)
		}
	}
	if len(axes) > 0 {
		x = o.Reduce(graph.Sum, x, axes, true)
	}
	return o.Reshape(x, shape)
}
