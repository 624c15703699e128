package graph

import (
	"errors"
	"fmt"
	"slices"
)

// Validate checks that g is in normal form, and that shapes and types are those
// that the operators' rules give. What a [Builder] returns is valid.
func (g *Graph) Validate() error {
	v := validation{Graph: g, types: map[string]operandType{}, used: map[string]bool{}}
	for _, check := range []func() error{v.inputs, v.constants, v.nodes, v.outputs, v.allUsed} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// validation has what [Graph.Validate] has read.
type validation struct {
	*Graph
	types map[string]operandType // of the values that are defined
	used  map[string]bool
}

// define notes a value, which is constant if t is not nil.
func (v validation) define(name string, t *Tensor) error {
	if _, ok := v.types[name]; ok {
		return fmt.Errorf("%s is defined twice", Quote(name))
	}
	shape, ok := v.Shapes[name]
	if err := checkInts(shape); err != nil || !ok || Size(shape) > MaxActivations && t == nil {
		return fmt.Errorf("%s has shape %v", Quote(name), shape)
	}
	if !v.DTypes[name].Known() {
		return fmt.Errorf("%s has %v", Quote(name), v.DTypes[name])
	}
	v.types[name] = operandType{shape: shape, dtype: v.DTypes[name], value: t}
	return nil
}

func (v validation) inputs() error {
	for _, in := range v.Inputs {
		if err := v.define(in.Name, nil); err != nil {
			return err
		}
		if !slices.Equal(in.Shape, v.Shapes[in.Name]) || in.DType != v.DTypes[in.Name] || in.Symbols != nil && len(in.Symbols) != len(in.Shape) {
			return fmt.Errorf("input %s has shape %v, type %v and symbols %q", Quote(in.Name), in.Shape, in.DType, in.Symbols)
		}
		v.used[in.Name] = true // a model need not read its inputs
	}
	return nil
}

func (v validation) constants() error {
	for name, t := range v.Consts {
		if err := t.check(); err != nil {
			return fmt.Errorf("constant %s: %w", Quote(name), err)
		}
		if err := v.define(name, t); err != nil {
			return err
		}
		if !slices.Equal(t.Shape, v.Shapes[name]) || t.DType != v.DTypes[name] {
			return fmt.Errorf("constant %s is of shape %v and type %v", Quote(name), t.Shape, t.DType)
		}
	}
	return nil
}

func (v validation) nodes() error {
	names := map[string]bool{}
	for _, n := range v.Nodes {
		if n.Name == "" || names[n.Name] {
			return fmt.Errorf("two nodes are called %s", Quote(n.Name))
		}
		names[n.Name] = true
		if err := v.node(n); err != nil {
			return NodeError{Op: Kind(n.Op), Name: n.Name, Reason: err.Error()}
		}
		if err := v.define(n.Output, nil); err != nil {
			return err
		}
	}
	return nil
}

func (v validation) outputs() error {
	if len(v.Outputs) == 0 {
		return errors.New("no outputs")
	}
	for i, out := range v.Outputs {
		if t, ok := v.types[out]; !ok || t.value != nil || slices.Contains(v.Outputs[:i], out) {
			return fmt.Errorf("output %s is not the output of one node", Quote(out))
		}
		v.used[out] = true
	}
	return nil
}

// allUsed checks that there is no value that nothing reads, and no shape or type of a
// value that is not there.
func (v validation) allUsed() error {
	for name := range v.types {
		if !v.used[name] {
			return fmt.Errorf("nothing uses %s", Quote(name))
		}
	}
	if len(v.Shapes) != len(v.types) || len(v.DTypes) != len(v.types) {
		return fmt.Errorf("%d shapes and %d types for %d values", len(v.Shapes), len(v.DTypes), len(v.types))
	}
	return nil
}

// node checks a node whose operands must be defined already.
func (v validation) node(n *Node) error {
	in := make([]operandType, len(n.Inputs))
	constant := true
	for i, name := range n.Inputs {
		t, ok := v.types[name]
		if !ok {
			return fmt.Errorf("reads %s, which is not defined before", Quote(name))
		}
		in[i], v.used[name] = t, true
		constant = constant && t.value != nil
		if err := v.numbers(n.Op, name); err != nil {
			return err
		}
	}
	_, identity := n.Op.(Identity)
	_, extend := n.Op.(Extend)
	for i, t := range in {
		if Size(t.shape) == 0 && !identity {
			return fmt.Errorf("reads %s, which is empty", Quote(n.Inputs[i]))
		}
	}
	switch {
	case constant && !identity && !extend:
		return errors.New("has only constant operands")
	case foldOnly(n.Op):
		return errors.New("serves constants only")
	}
	t, err := infer(n.Op, in)
	if err != nil {
		return err
	}
	want := t.dtype.computed()
	if identity {
		want = t.dtype // the same value under another name
	}
	if !slices.Equal(t.shape, v.Shapes[n.Output]) || want != v.DTypes[n.Output] {
		return fmt.Errorf("gives shape %v and type %v, not %v and %v", t.shape, want, v.Shapes[n.Output], v.DTypes[n.Output])
	}
	return nil
}

// numbers checks that operators which ask for numbers that are not finite read inputs that
// may have them, and that no others do.
func (v validation) numbers(op Op, name string) error {
	switch op.(type) {
	case Finite, Class:
	default:
		if v.Extended(name) {
			return fmt.Errorf("reads %s, whose numbers may not be finite", Quote(name))
		}
		return nil
	}
	has := FiniteNumbers
	for _, in := range v.Inputs {
		if in.Name == name {
			has = in.Numbers
		}
	}
	if has == FiniteNumbers || has == MaskingNumbers && (op == ClassNaN || op == ClassPosInf) {
		return fmt.Errorf("reads %s, which has no such numbers", Quote(name))
	}
	return nil
}
