package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// mapping computes the body of a Scan for all scanned elements at once, if the body leaves its states unchanged.
// scikit-learn's neighbours and kernels are exported as such Scans, which compute the distances of rows to each row of a list.
// These become one tensor instead of one for each row.
type mapping struct {
	scan
	trips  int
	values map[string]mappedValue // of the body, by name
}

// mappedValue is a value of the body. If all is set it has the values of all trips, along
// its first axis; otherwise it is the same in all trips.
type mappedValue struct {
	graph.Value
	all bool
}

// mapped returns the results of a Scan computed as a mapping. It returns false if the body changes a state, or has an operator that
// a mapping does not support.
func (s scan) mapped(in []graph.Value) ([]graph.Value, bool) {
	odd := slices.ContainsFunc(slices.Concat(s.inAxes, s.outAxes, s.inBack, s.outBack), func(v int64) bool { return v != 0 })
	if odd || len(s.body.Input) != len(in) || len(s.body.Initializer) > 0 {
		return nil, false
	}
	m := &mapping{scan: s, values: map[string]mappedValue{}}
	for i, v := range in {
		shape := s.shape(v)
		if i >= s.states {
			if len(shape) == 0 || m.trips > 0 && shape[0] != m.trips {
				return nil, false
			}
			m.trips = shape[0]
		}
		m.values[s.body.Input[i].GetName()] = mappedValue{v, i >= s.states}
	}
	if m.trips < 1 || !m.possible() {
		return nil, false
	}
	for _, n := range s.body.Node {
		if !m.node(n) {
			return nil, false
		}
	}
	var out []graph.Value
	for i, o := range s.body.Output {
		v, ok := m.values[o.GetName()]
		if !ok || v.all != (i >= s.states) || i < s.states && s.Name(v.Value) != s.Name(in[i]) {
			return nil, false
		}
		out = append(out, v.Value)
	}
	return out, true
}

// The operators that a mapping supports: those of two operands, of one operand, and those that reduce along axes.
var (
	mappedBinary = map[string]func(*graph.Builder, graph.Value, graph.Value) graph.Value{
		"Add": (*graph.Builder).Add, "Sub": (*graph.Builder).Sub, "Mul": (*graph.Builder).Mul, "Div": (*graph.Builder).Div,
	}
	mappedUnary   = map[string]bool{"Abs": true, "Neg": true, "Sqrt": true, "Exp": true}
	mappedReduced = map[string]reduction{ // with axes as an attribute, not as an operand
		"ReduceSum": summed(nil, nil), "ReduceSumSquare": summed(squared, nil), "ReduceL1": summed(absolute, nil),
		"ReduceMax": (*graph.Builder).ReduceMax,
	}
)

// possible says whether a mapping supports all nodes of the body. It is asked before any
// of them is built.
func (m *mapping) possible() bool {
	for _, n := range m.body.Node {
		op, operands := n.GetOpType(), 0
		switch {
		case op == "Identity" || mappedUnary[op] || mappedReduced[op] != nil:
			operands = 1
		case mappedBinary[op] != nil:
			operands = 2
		}
		if operands == 0 || len(n.Input) != operands || !standardDomain(n.GetDomain()) || len(n.Output) != 1 {
			return false
		}
	}
	return true
}

// node computes a node of the body for all trips, or returns false if it cannot.
func (m *mapping) node(n *onnxpb.NodeProto) bool {
	var in []mappedValue
	all, rank := false, 0
	for _, name := range n.Input {
		v, ok := m.values[name]
		if !ok {
			return false
		}
		r := len(m.shape(v.Value))
		if v.all {
			r--
		}
		in, all, rank = append(in, v), all || v.all, max(rank, r)
	}
	out := mappedValue{all: all}
	switch op := n.GetOpType(); {
	case op == "Identity":
		out = in[0]
	case mappedUnary[op]:
		out.Value = m.Apply(graph.FunctionNamed(op), in[0].Value)
	case mappedBinary[op] != nil:
		if len(n.Attribute) > 0 {
			return false
		}
		out.Value = mappedBinary[op](m.Builder, m.ranked(in[0], rank), m.ranked(in[1], rank))
	default:
		axes, keep, ok := mappedAxes(n, rank, all)
		if !ok {
			return false
		}
		out.Value = mappedReduced[op](m.Builder, in[0].Value, axes, keep)
	}
	m.values[n.Output[0]] = out
	return m.Valid(out.Value)
}

// ranked gives a value of all trips rank axes after the first one, the number of axes that the result has in a trip. So
// broadcasting aligns the axes of each trip, and repeats other values for each trip.
func (m *mapping) ranked(v mappedValue, rank int) graph.Value {
	shape := m.shape(v.Value)
	if missing := rank + 1 - len(shape); v.all && missing > 0 {
		return m.Reshape(v.Value, slices.Concat(shape[:1], slices.Repeat([]int{1}, missing), shape[1:]))
	}
	return v.Value
}

// mappedAxes returns the axes along which n reduces values that have rank axes in a trip. In a value of all trips, each is one
// further back.
func mappedAxes(n *onnxpb.NodeProto, rank int, all bool) (axes []int, keep, ok bool) {
	keep = true
	for _, a := range n.Attribute {
		switch a.GetName() {
		case "axes":
			for _, x := range a.Ints {
				if x < -int64(rank) || x >= int64(rank) {
					return nil, false, false
				}
				axes = append(axes, (int(x)+rank)%rank)
			}
		case "keepdims":
			keep = a.GetI() != 0
		default:
			return nil, false, false
		}
	}
	if axes == nil {
		axes = upTo(0, rank)
	}
	if all {
		for i := range axes {
			axes[i]++
		}
	}
	slices.Sort(axes)
	return slices.Compact(axes), keep, true
}
