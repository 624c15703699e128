package forward

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Check verifies that every step's constraint holds for the witness over the
// integers. It is slow and meant for tests and for finding a fault in a graph;
// a proof of a witness that fails here is rejected.
func (w *Witness) Check() error {
	e := &executor{Witness: w, cache: map[model.TensorID]ints.Ints{}}
	for i := range w.graph.Steps {
		s := &w.graph.Steps[i]
		acc, err := e.accumulate(s)
		if err == nil {
			err = w.check(s, acc)
		}
		if err != nil {
			return fmt.Errorf("step %d (%s): %w", i, s.Name, err)
		}
	}
	return nil
}

// check verifies one step against its accumulator.
func (w *Witness) check(s *model.Step, acc []int64) error {
	at := func(id model.TensorID, j int) int64 {
		if id == model.None {
			return 0
		}
		return int64(w.Values[id][j])
	}
	var values []int32
	if s.Kind == model.StepLookup && w.graph.Tables[s.Table].Kind == model.TableFunc {
		values = ints.All(w.Weights[w.graph.Tables[s.Table].Values])
	}
	for j, x := range acc {
		switch s.Kind {
		case model.StepZero:
			if x != 0 {
				return fmt.Errorf("entry %d is %d, not zero", j, x)
			}
		case model.StepExact:
			if x != at(s.Out, j) {
				return fmt.Errorf("entry %d is %d, not %d", j, at(s.Out, j), x)
			}
		case model.StepLookup:
			t := &w.graph.Tables[s.Table]
			key := x >> s.Shift
			if lo := x - key<<s.Shift; lo != at(s.Lo, j) || !t.Contains(key) {
				return fmt.Errorf("entry %d: key %d, remainder %d", j, key, lo)
			}
			if s.Out == model.None {
				continue
			}
			if y := t.Value(key, values); y != at(s.Out, j) {
				return fmt.Errorf("entry %d is %d, the table says %d", j, at(s.Out, j), y)
			}
		}
	}
	return nil
}
