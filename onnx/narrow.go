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

// doubles reports whether a file has inputs or constants of doubles, or casts to them.
func (f *fileGraph) doubles() bool {
	for _, v := range f.inputs {
		if graph.DType(v.GetType().GetTensorType().GetElemType()) == graph.Double {
			return true
		}
	}
	for _, t := range f.initializers {
		if graph.DType(t.GetDataType()) == graph.Double {
			return true
		}
	}
	for _, n := range f.nodes {
		for _, a := range n.Attribute {
			if n.GetOpType() == "Cast" && a.GetName() == "to" && graph.DType(a.GetI()) == graph.Double {
				return true
			}
		}
	}
	return false
}
