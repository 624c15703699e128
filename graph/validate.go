package graph

import (
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Validate checks that g is in normal form, and that its shapes and types are those that
// the operators' rules give. A graph that a [Builder] returns is valid.
func (g *Graph) Validate() error {
	v := validation{Graph: g, types: map[string]operandType{}, used: map[string]bool{}}
	return refuse.Caught(func() {
		v.inputs()
		v.constants()
		v.nodes()
		v.outputs()
		v.allUsed()
	})
}

// validation is the state of [Graph.Validate]. Its methods refuse (package refuse) a
// graph that is not valid.
type validation struct {
	*Graph
	types map[string]operandType // of the values that are defined so far
	used  map[string]bool        // the values that a node reads, inputs and outputs
}

// define records that a value is defined; t is its tensor if it is constant, else nil.
func (v validation) define(name string, t *Tensor) {
	_, ok := v.types[name]
	refuse.If(ok, "%s is defined twice", Quote(name))
	shape, ok := v.Shapes[name]
	err := checkInts(shape)
	refuse.If(err != nil || !ok || Size(shape) > MaxActivations && t == nil, "%s has shape %v", Quote(name), shape)
	refuse.If(!v.DTypes[name].Known(), "%s has %v", Quote(name), v.DTypes[name])
	v.types[name] = operandType{shape: shape, dtype: v.DTypes[name], value: t}
}

func (v validation) inputs() {
	for _, in := range v.Inputs {
		v.define(in.Name, nil)
		if !slices.Equal(in.Shape, v.Shapes[in.Name]) || in.DType != v.DTypes[in.Name] || in.Symbols != nil && len(in.Symbols) != len(in.Shape) {
			refuse.With("input %s has shape %v, type %v and symbols %q", Quote(in.Name), in.Shape, in.DType, in.Symbols)
		}
		v.used[in.Name] = true // a model need not read its inputs
	}
}

func (v validation) constants() {
	for name, t := range v.Consts {
		refuse.Within("constant "+Quote(name), t.check)
		v.define(name, t)
		refuse.If(!slices.Equal(t.Shape, v.Shapes[name]) || t.DType != v.DTypes[name],
			"constant %s is of shape %v and type %v", Quote(name), t.Shape, t.DType)
	}
}

func (v validation) nodes() {
	names := map[string]bool{}
	for _, n := range v.Nodes {
		refuse.If(n.Name == "" || names[n.Name], "two nodes are called %s", Quote(n.Name))
		names[n.Name] = true
		if err := refuse.Caught(func() { v.node(n) }); err != nil {
			refuse.With("%w", NodeError{Op: Kind(n.Op), Name: n.Name, Reason: err.Error()})
		}
		v.define(n.Output, nil)
	}
}

func (v validation) outputs() {
	refuse.If(len(v.Outputs) == 0, "no outputs")
	for i, out := range v.Outputs {
		if t, ok := v.types[out]; !ok || t.value != nil || slices.Contains(v.Outputs[:i], out) {
			refuse.With("output %s is not the output of one node", Quote(out))
		}
		v.used[out] = true
	}
}

// allUsed checks that every value is read or is an input or output, and that Shapes and
// DTypes have entries for defined values only.
func (v validation) allUsed() {
	for name := range v.types {
		refuse.If(!v.used[name], "nothing uses %s", Quote(name))
	}
	refuse.If(len(v.Shapes) != len(v.types) || len(v.DTypes) != len(v.types),
		"%d shapes and %d types for %d values", len(v.Shapes), len(v.DTypes), len(v.types))
}

// node checks a node whose operands must be defined already.
func (v validation) node(n *Node) {
	_, identity := n.Op.(Identity)
	_, extend := n.Op.(Extend)
	in := make([]operandType, len(n.Inputs))
	constant := true
	for i, name := range n.Inputs {
		t, ok := v.types[name]
		refuse.If(!ok, "reads %s, which is not defined before", Quote(name))
		in[i], v.used[name] = t, true
		constant = constant && t.value != nil
		v.numbers(n.Op, name)
		refuse.If(Size(t.shape) == 0 && !identity, "reads %s, which is empty", Quote(name))
	}
	switch {
	case constant && !identity && !extend:
		refuse.With("has only constant operands")
	case n.Op == Op(Div) && in[1].value != nil:
		refuse.With("divides by a constant, in place of a product with the reciprocal")
	case scaledApart(n.Op, in):
		refuse.With("has a factor, or a third operand that is no bias of weights")
	case foldOnly(n.Op):
		refuse.With("serves constants only")
	}
	t := inferred(n.Op, in)
	want := t.dtype.computed()
	if identity {
		want = t.dtype // the same value under another name
	}
	refuse.If(!slices.Equal(t.shape, v.Shapes[n.Output]) || want != v.DTypes[n.Output],
		"gives shape %v and type %v, not %v and %v", t.shape, want, v.Shapes[n.Output], v.DTypes[n.Output])
}

// scaledApart reports whether an operator is a Gemm that the normal form excludes: one whose Alpha or Beta is not 1, or
// whose third operand is not constant, or has two computed matrices beside it.
func scaledApart(op Op, in []operandType) bool {
	g, ok := op.(Gemm)
	return ok && (g.Alpha != 1 || g.Beta != 1 || len(in) > 2 && (in[2].value == nil || in[0].value == nil && in[1].value == nil))
}

// numbers checks an operand of op. Finite and Class must read an input that may have the
// numbers they ask about; other operators must not read a value that may not be finite.
func (v validation) numbers(op Op, name string) {
	switch op.(type) {
	case Finite, Class:
	default:
		refuse.If(v.Extended(name), "reads %s, whose numbers may not be finite", Quote(name))
		return
	}
	has := FiniteNumbers
	for _, in := range v.Inputs {
		if in.Name == name {
			has = in.Numbers
		}
	}
	refuse.If(has == FiniteNumbers || has == MaskingNumbers && (op == ClassNaN || op == ClassPosInf),
		"reads %s, which has no such numbers", Quote(name))
}
