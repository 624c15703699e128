package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// narrows says where a file casts floats to types of 16 bits, and has doubles that no float holds. The graph computes in float64, leaves
// such a cast out and has floats for constants; a run that is to be the file's own rounds there, and has the doubles (graph.Graph.Typed).
type narrows struct {
	round bool // whether it is that run's graph
	some  bool // whether there are such casts of computed values, or such constants
}

// exact is a constant for a graph: with its doubles, if it has some that no float holds and the graph is that of a typed run.
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

// narrowed is the result of a cast, rounded where that is asked for.
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

// stated is the floating-point type of a node's operands: that of the first which has one.
func (o *op) stated() graph.DType {
	for _, name := range o.proto.Input {
		if dt := o.types[name]; dt.IsFloat() {
			return dt
		}
	}
	return graph.Float
}

// statedResult is the type of a node's results: what a Cast is to, or that of the operands.
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
