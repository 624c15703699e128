package forward

import (
	"context"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Restate returns the witness of a run of g on the same inputs as w. g is the circuit of w with another statement: it hides inputs or
// outputs, or reveals the greatest entries of outputs. Its first steps are those of w's circuit. w must not be used afterwards.
func Restate(ctx context.Context, m Machine, w *Witness, g *model.Graph) (*Witness, error) {
	of := w.graph
	var inputs, hidden [][]int32
	for _, id := range of.Inputs {
		if slices.Contains(g.Hidden, id) {
			hidden = append(hidden, w.Tensor(id))
		} else {
			inputs = append(inputs, w.Tensor(id))
		}
	}
	coarse, err := committed(g, of, w)
	if err != nil {
		return nil, err
	}
	hidden = append(hidden, coarse...)
	outputs := make([][]int32, len(g.Outputs))
	for _, v := range g.Reveals {
		shape := of.Tensors[v.Of].Shape
		outputs[v.Place] = v.Greatest(w.Tensor(v.Of), shape[len(shape)-1])
	}
	if g.Instance.Segment != nil {
		for _, id := range g.Unmade() { // what is imported
			hidden = append(hidden, w.Tensor(id))
		}
	}
	return extend(ctx, m, w, g, append(g.Widen(inputs, outputs, true), hidden...))
}

// committed returns the values of those committed inputs whose commitment is in units 2^k times as large as the circuit's, with k above
// 0. It is an error if a value is not a multiple of 2^k.
func committed(g, of *model.Graph, w *Witness) (list [][]int32, err error) {
	for _, c := range g.Instance.Committed {
		id := of.Inputs[c.Input]
		_, k, _ := g.Tensors[id].Coarse(c.Frac)
		if k == 0 {
			continue
		}
		values := slices.Clone(w.Tensor(id))
		for i, v := range values {
			if values[i] = v >> k; values[i]<<k != v {
				return nil, fmt.Errorf("entry %d of input %q is not one in units of 2^%d, as it is committed to", i, g.Tensors[id].Name, -c.Frac)
			}
		}
		list = append(list, values)
	}
	return list, nil
}

// extend returns the witness of a run of g, whose first steps and inputs are those of the circuit that w is a run of. inputs are
// all inputs of g, hidden ones last. w must not be used afterwards. Only the additional steps of g are executed, except if w is
// from a machine: then the machine runs g from the beginning, which is faster than copying the values from it.
func extend(ctx context.Context, m Machine, w *Witness, g *model.Graph, inputs [][]int32) (*Witness, error) {
	if w.kept != nil {
		weights := w.Weights
		w.Close()
		return RunOn(ctx, m, g, weights, inputs)
	}
	out, err := prepare(g, w.Weights, inputs, w.arena)
	if err == nil {
		err = out.extend(ctx, w)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return out, nil
}

// extend takes the results of the steps of of's circuit from of, and executes the other steps.
func (w *Witness) extend(ctx context.Context, of *Witness) error {
	return w.complete(ctx, func(i int, s *model.Step) ([]int32, bool) {
		if i >= len(of.graph.Steps) {
			return nil, false
		}
		for _, id := range s.Results() {
			w.Values[id] = of.Values[id]
		}
		return of.Keys[i], true
	})
}
