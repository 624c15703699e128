package model

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// ErrHide is wrapped by the error about an input or an output that a proof cannot hide.
var ErrHide = errors.New("it cannot be hidden")

// Hides says whether the instance hides inputs or outputs. Its proofs must then be masked.
func (in *Instance) Hides() bool { return len(in.HiddenInputs)+len(in.HiddenOutputs) > 0 }

// Spread returns the values of a statement's inputs by the inputs' places in the template, with nil for those that are hidden.
func (in *Instance) Spread(inputs [][]int32) [][]int32 {
	if len(in.HiddenInputs) == 0 {
		return inputs
	}
	all := make([][]int32, 0, len(inputs)+len(in.HiddenInputs))
	for _, i := range in.HiddenInputs { // increasing
		n := i - len(all)
		all, inputs = append(append(all, inputs[:n]...), nil), inputs[n:]
	}
	return append(all, inputs...)
}

// hide takes inputs and outputs out of the statement of a circuit that has no layout yet (docs/protocol.md, "Hidden inputs and outputs").
// A hidden input becomes a witness tensor that no step computes, so the prover chooses its values. Two look-ups force them to
// be in the input's range; the values of a public input are kept there by the reader of a proof. A hidden output is only removed from the
// list of outputs.
func (g *Graph) hide(in *Instance) error {
	inputs, outputs := in.HiddenInputs, in.HiddenOutputs
	if len(inputs)+len(outputs) == 0 {
		if len(in.Committed) > 0 {
			return fmt.Errorf("%w: an input that was committed to is a hidden one", ErrHide)
		}
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
	wired, hidden := g.wired(), make(map[TensorID]bool, len(inputs))
	for _, i := range inputs {
		hidden[all[i]] = true
		if err := g.hideInput(all[i], wired[all[i]]); err != nil {
			return fmt.Errorf("input %q: %w: %w", g.Tensors[all[i]].Name, ErrHide, err)
		}
	}
	if err := g.committed(in.Committed, inputs, all); err != nil {
		return err
	}
	g.Inputs = slices.DeleteFunc(g.Inputs, func(id TensorID) bool { return hidden[id] })
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

// Committed says that a hidden input was committed to before. Its values are alone under a root that the proof's header names, in rows of
// 2^RowVars values with tails of a 2^TailLog-th of that. They are in units of 2^(−Frac). The model's unit may be 2^k times smaller,
// with k up to MaxFiner: it then reads 2^k times the committed integers, which are exactly the same real numbers.
type Committed struct {
	Input                  int // its place among the inputs of the template
	Frac, RowVars, TailLog int
}

// MaxFiner is the largest difference between the Frac of an input and that of the commitment to it.
const MaxFiner = 20

// Coarse returns the tensor that has the input's values in a commitment in units of 2^(−frac), and k: the input is 2^k times that
// tensor. Its range has the integers whose multiple is in the input's range. ok is false if the input cannot be committed to in these
// units.
func (t *Tensor) Coarse(frac int) (c Tensor, k int, ok bool) {
	k = t.Frac - frac
	if len(t.Fracs) > 0 || k < 0 || k > MaxFiner {
		return c, 0, false
	}
	c = Tensor{Name: t.Name, Shape: t.Shape, Kind: Witness, Frac: frac, Min: -(-t.Min >> k), Max: t.Max >> k} // rounded inwards
	return c, k, c.Min <= c.Max
}

// committed puts hidden inputs that were committed to into trees of their own. places has the hidden inputs' places in all, the inputs of
// the template. If the commitment is in the model's units, its tree has the input itself. If its units are 2^k times larger, the tree has a
// further tensor c, a zero step says that the input is 2^k·c, and look-ups keep c in a range: otherwise a c that is not small could be,
// modulo p, the input divided by 2^k.
func (g *Graph) committed(list []Committed, places []int, all []TensorID) error {
	last := -1
	for _, c := range list {
		i := slices.Index(places, c.Input)
		if i <= last {
			return fmt.Errorf("%w: input %d, which was committed to, is not hidden, or is out of order", ErrHide, c.Input)
		}
		last = i
		id := all[c.Input]
		coarse, k, ok := g.Tensors[id].Coarse(c.Frac)
		if t := &g.Tensors[id]; !ok {
			return fmt.Errorf("input %q: %w: it is committed to in units of 2^%d, and the model reads multiples of 2^%d from %d to %d, or units of several sizes: commit to it with the key of the model that has the coarsest",
				t.Name, ErrHide, -c.Frac, -t.Frac, t.Min, t.Max)
		}
		if k > 0 {
			read := id
			id = g.add(coarse)
			if err := g.keep(id); err != nil {
				return fmt.Errorf("input %q: %w: %w", coarse.Name, ErrHide, err)
			}
			g.Steps = append(g.Steps, Step{Name: "scale", Kind: StepZero, Shape: coarse.Shape, Acc: Acc{Linear: []Linear{{Coef: 1, Src: read}, {Coef: -1 << k, Src: id}}},
				Lo: None, Table: None, Out: None, Den: None})
		}
		g.Apart = append(g.Apart, Apart{[]TensorID{id}, true})
	}
	return nil
}

// Kept says whether the tensor is one that no step computes and that look-ups keep in its range: a hidden input, or a tensor of a
// committed input.
func (g *Graph) Kept(id TensorID) bool {
	return slices.Contains(g.Hidden, id) ||
		len(g.Hidden) > 0 && slices.ContainsFunc(g.Apart, func(a Apart) bool { return slices.Contains(a.Tensors, id) })
}

// increasing checks that a list of places is strictly increasing and below n.
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
// to less than p. wired says whether it is an input of indexes (IsIds).
func (g *Graph) hideInput(id TensorID, wired bool) error {
	t := &g.Tensors[id]
	switch {
	case t.Kind == Empty:
		return errors.New("it has no entries")
	case t.Numbers != FiniteNumbers:
		return errors.New("it has codes for numbers that are not finite")
	case wired:
		return errors.New("its entries are indexes, by which others are read")
	}
	t.Kind = Witness
	g.Hidden = append(g.Hidden, id)
	return g.keep(id)
}

// keep adds the two look-ups that keep a tensor's entries in its range.
func (g *Graph) keep(id TensorID) error {
	t := g.Tensors[id] // a copy: tensors are added
	table, shift, ok := g.rangeFor(bits.Len64(uint64(t.Max - t.Min)))
	if !ok {
		return fmt.Errorf("its range, [%d, %d], is too wide to be looked up", t.Min, t.Max)
	}
	g.compare("range", t.Shape, Acc{Const: -t.Min, Linear: []Linear{{Coef: 1, Src: id}}}, table, shift)
	g.compare("range", t.Shape, Acc{Const: t.Max, Linear: []Linear{{Coef: -1, Src: id}}}, table, shift)
	return nil
}
