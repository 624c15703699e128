package onnx

import (
	"github.com/prove-model/prove-model/graph"
)

// narrows says where a file casts floats to types of 16 bits. The graph computes in float64 and
// leaves such a cast out; a run that is to be the file's own rounds there (graph.Graph.Typed).
type narrows struct {
	round bool // whether it is that run's graph
	some  bool // whether there are such casts of computed values
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
