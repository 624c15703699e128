package graph

import (
	"errors"
	"fmt"
	"slices"
)

// Validate checks that g is in normal form, and that shapes and types are those
// that the operators' rules give. What a [Builder] returns is valid.
func (g *Graph) Validate() error {
	types := map[string]operandType{}
	used := map[string]bool{}
	define := func(name string, t *Tensor) error {
		if _, ok := types[name]; ok {
			return fmt.Errorf("%s is defined twice", Quote(name))
		}
		shape, ok := g.Shapes[name]
		if err := checkInts(shape); err != nil || !ok || Size(shape) > MaxActivations && t == nil {
			return fmt.Errorf("%s has shape %v", Quote(name), shape)
		}
		if !g.DTypes[name].Known() {
			return fmt.Errorf("%s has %v", Quote(name), g.DTypes[name])
		}
		types[name] = operandType{shape: shape, dtype: g.DTypes[name], value: t}
		return nil
	}
	for _, v := range g.Inputs {
		if err := define(v.Name, nil); err != nil {
			return err
		}
		if !slices.Equal(v.Shape, g.Shapes[v.Name]) || v.DType != g.DTypes[v.Name] || v.Symbols != nil && len(v.Symbols) != len(v.Shape) {
			return fmt.Errorf("input %s has shape %v, type %v and symbols %q", Quote(v.Name), v.Shape, v.DType, v.Symbols)
		}
	}
	for name, t := range g.Consts {
		if err := t.check(); err != nil {
			return fmt.Errorf("constant %s: %w", Quote(name), err)
		}
		if err := define(name, t); err != nil {
			return err
		}
		if !slices.Equal(t.Shape, g.Shapes[name]) || t.DType != g.DTypes[name] {
			return fmt.Errorf("constant %s is of shape %v and type %v", Quote(name), t.Shape, t.DType)
		}
	}
	names := map[string]bool{}
	for _, n := range g.Nodes {
		if n.Name == "" || names[n.Name] {
			return fmt.Errorf("two nodes are called %s", Quote(n.Name))
		}
		names[n.Name] = true
		if err := g.validateNode(n, types, used); err != nil {
			return NodeError{Op: n.Op.Kind(), Name: n.Name, Reason: err.Error()}
		}
		if err := define(n.Output, nil); err != nil {
			return err
		}
	}
	if len(g.Outputs) == 0 {
		return errors.New("no outputs")
	}
	for i, out := range g.Outputs {
		if t, ok := types[out]; !ok || t.value != nil || slices.Contains(g.Outputs[:i], out) {
			return fmt.Errorf("output %s is not the output of one node", Quote(out))
		}
		used[out] = true
	}
	for _, v := range g.Inputs {
		used[v.Name] = true // a model need not read its inputs
	}
	for name := range types {
		if !used[name] {
			return fmt.Errorf("nothing uses %s", Quote(name))
		}
	}
	if len(g.Shapes) != len(types) || len(g.DTypes) != len(types) {
		return fmt.Errorf("%d shapes and %d types for %d values", len(g.Shapes), len(g.DTypes), len(types))
	}
	return nil
}

// validateNode checks a node whose operands must be defined already.
func (g *Graph) validateNode(n *Node, types map[string]operandType, used map[string]bool) error {
	in := make([]operandType, len(n.Inputs))
	constant := true
	for i, name := range n.Inputs {
		t, ok := types[name]
		if !ok {
			return fmt.Errorf("reads %s, which is not defined before", Quote(name))
		}
		in[i], used[name] = t, true
		constant = constant && t.value != nil
		switch n.Op.(type) {
		case Finite, Class:
			has := FiniteNumbers
			for _, in := range g.Inputs {
				if in.Name == name {
					has = in.Numbers
				}
			}
			if has == FiniteNumbers || has == MaskingNumbers && (n.Op == ClassNaN || n.Op == ClassPosInf) {
				return fmt.Errorf("reads %s, which has no such numbers", Quote(name))
			}
		default:
			if g.Extended(name) {
				return fmt.Errorf("reads %s, whose numbers may not be finite", Quote(name))
			}
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
	t, err := n.Op.infer(in)
	if err != nil {
		return err
	}
	want := t.dtype.computed()
	if identity {
		want = t.dtype // the same value under another name
	}
	if !slices.Equal(t.shape, g.Shapes[n.Output]) || want != g.DTypes[n.Output] {
		return fmt.Errorf("gives shape %v and type %v, not %v and %v", t.shape, want, g.Shapes[n.Output], g.DTypes[n.Output])
	}
	return nil
}
