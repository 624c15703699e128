package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// narrows controls casts to floating-point types of 16 bits, and doubles that float32 does not hold. The graph computes in float64: it
// leaves such casts out, and rounds such constants to float32. A typed run (graph.Graph.Typed), which computes as the file says, rounds
// at these casts, and keeps the doubles.
type narrows struct {
	round bool // this is the graph of a typed run
	some  bool // the file has such a cast of a computed value, or such a constant
}

// exact returns the constant t, decoded from p. If it has doubles that float32 does not hold, and the graph is that of a
// typed run, the result keeps them (Tensor.Exact).
func (n *narrows) exact(t *graph.Tensor, p *onnxpb.TensorProto) *graph.Tensor {
	if t.DType != graph.Double || t.F32 == nil {
		return t
	}
	v := doubles(p)
	if len(v) != len(t.F32) || !slices.ContainsFunc(v, func(x float64) bool { return x != float64(float32(x)) && x == x }) {
		return t
	}
	n.some = true
	if !n.round {
		return t
	}
	out := *t
	out.Exact = v
	return &out
}

// narrowed returns v, the result of a cast to type to; in the graph of a typed run it
// rounds v to a type of 16 bits.
func (o *op) narrowed(v graph.Value, to graph.DType) graph.Value {
	if !to.IsHalf() || !o.Valid(v) || o.Tensor(v) != nil {
		return v
	}
	o.narrows.some = true
	if o.narrows.round {
		return o.Narrow(v, to)
	}
	return v
}

// stated returns the floating-point type in which the file has the node compute: that of
// its first input that has one, or Float.
func (o *op) stated() graph.DType {
	for _, name := range o.proto.Input {
		if dt := o.types[name]; dt.IsFloat() {
			return dt
		}
	}
	return graph.Float
}

// statedResult returns the type that the file states for the node's results: the target
// type of a Cast, else that of the operands.
func (o *op) statedResult() graph.DType {
	if kind := o.proto.GetOpType(); kind == "CastLike" && len(o.proto.Input) > 1 {
		return o.types[o.proto.Input[1]]
	} else if kind == "Cast" {
		for _, a := range o.proto.Attribute {
			if a.GetName() == "to" {
				return graph.DType(a.GetI())
			}
		}
	}
	return o.stated()
}
