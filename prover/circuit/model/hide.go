package model

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// ErrHide is wrapped by the error about an input or an output that a proof cannot hide.
var ErrHide = errors.New("it cannot be hidden")

// Hides says whether proofs of the instance state less than all inputs and outputs: such proofs are masked.
func (in *Instance) Hides() bool { return len(in.HiddenInputs)+len(in.HiddenOutputs) > 0 }

// Spread returns the inputs of a statement by their places in the template, nil for those that are hidden.
func (in *Instance) Spread(inputs [][]int32) [][]int32 {
	for _, i := range in.HiddenInputs {
		inputs = slices.Insert(slices.Clone(inputs), i, nil)
	}
	return inputs
}

// hide takes inputs and outputs out of the statement of a circuit that has no layout yet. A hidden input is a witness
// tensor, the only one that no step makes: any values will do that two look-ups find in the input's range, as the reader of
// a proof finds public ones. A hidden output is one that nothing is said of.
func (g *Graph) hide(inputs, outputs []int) error {
	if len(inputs)+len(outputs) == 0 {
		return nil
	}
	if err := increasing("input", inputs, len(g.Given())); err != nil {
		return err
	}
	if err := increasing("output", outputs, len(g.Outputs)); err != nil {
		return err
	}
	if len(outputs) == len(g.Outputs) {
		return fmt.Errorf("%w: a proof that states no output says nothing: reveal something of one", ErrHide)
	}
	all := g.Inputs
	g.Inputs, g.Outputs, g.Tables = slices.Clone(all), slices.Clone(g.Outputs), slices.Clone(g.Tables)
	for _, i := range inputs {
		if err := g.hideInput(all[i]); err != nil {
			return fmt.Errorf("input %q: %w: %w", g.Tensors[all[i]].Name, ErrHide, err)
		}
	}
	g.Inputs = slices.DeleteFunc(g.Inputs, func(id TensorID) bool { return slices.Contains(g.Hidden, id) })
	g.Stated -= min(g.Stated, len(inputs))
	for _, o := range slices.Backward(outputs) {
		for i := range g.Reveals {
			switch r := &g.Reveals[i]; {
			case r.Output == o:
				return fmt.Errorf("%w: output %d is hidden, and something is revealed of it: then the rest is hidden anyway", ErrHide, o)
			case r.Output > o:
				r.Place--
			}
		}
		id := g.Outputs[o]
		if t := &g.Tensors[id]; t.Kind == Empty || t.Numbers != FiniteNumbers {
			return fmt.Errorf("output %q: %w: it has no entries, or codes for numbers that are not finite", t.Name, ErrHide)
		}
		g.HiddenOutputs = slices.Insert(g.HiddenOutputs, 0, id)
		g.Outputs = slices.Delete(g.Outputs, o, o+1)
	}
	return nil
}

// increasing checks a list of places.
func increasing(what string, places []int, n int) error {
	last := -1
	for _, i := range places {
		if i <= last || i >= n {
			return fmt.Errorf("%w: %s %d of %d, or not in order", ErrHide, what, i, n)
		}
		last = i
	}
	return nil
}

// hideInput makes an input a witness tensor, with look-ups that keep its entries x to its range: x − Min and Max − x are
// in [0, 2^n). Modulo p this says the same as over the integers: the two add up to Max − Min, and as integers below 2^30
// to less than p.
func (g *Graph) hideInput(id TensorID) error {
	t := &g.Tensors[id]
	switch {
	case t.Kind == Empty:
		return errors.New("it has no entries")
	case t.Numbers != FiniteNumbers:
		return errors.New("it has codes for numbers that are not finite")
	case g.IsIds(id):
		return errors.New("its entries are indexes, by which others are read")
	}
	table, shift, ok := g.rangeFor(bits.Len64(uint64(t.Max - t.Min)))
	if !ok {
		return fmt.Errorf("its range, [%d, %d], is too wide to be looked up", t.Min, t.Max)
	}
	t.Kind = Witness
	low, high, shape := -t.Min, t.Max, t.Shape // tensors are added
	g.Hidden = append(g.Hidden, id)
	g.compare("range", shape, Acc{Const: low, Linear: []Linear{{Coef: 1, Src: id}}}, table, shift)
	g.compare("range", shape, Acc{Const: high, Linear: []Linear{{Coef: -1, Src: id}}}, table, shift)
	return nil
}
