package forward

import (
	"fmt"
	"slices"

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
	switch s.Kind {
	case model.StepZero:
		if j := slices.IndexFunc(acc, func(x int64) bool { return x != 0 }); j >= 0 {
			return fmt.Errorf("entry %d is %d, not zero", j, acc[j])
		}
	case model.StepExact:
		for j, x := range acc {
			if y := w.at(s.Out, j); x != y {
				return fmt.Errorf("entry %d is %d, not %d", j, y, x)
			}
		}
	case model.StepLookup:
		return w.checkLookup(s, acc)
	}
	return nil
}

// checkLookup verifies a look-up against its accumulator: that remainders are the low bits, that the keys are in the table, and that
// the results are the table's values at these keys.
func (w *Witness) checkLookup(s *model.Step, acc []int64) error {
	t := &w.graph.Tables[s.Table]
	var column []int32
	if t.Kind == model.TableFunc {
		column = ints.All(w.Weights[t.Values])
	}
	for j, x := range acc {
		key := x >> s.Shift
		if lo := x - key<<s.Shift; lo != w.at(s.Lo, j) || !t.Contains(key) {
			return fmt.Errorf("entry %d: key %d, remainder %d", j, key, lo)
		}
		if s.Out == model.None {
			continue
		}
		if y := t.Value(key, column); y != w.at(s.Out, j) {
			return fmt.Errorf("entry %d is %d, the table says %d", j, w.at(s.Out, j), y)
		}
	}
	return nil
}

// at returns entry j of a tensor, or 0 if id is None.
func (w *Witness) at(id model.TensorID, j int) int64 {
	if id == model.None {
		return 0
	}
	return int64(w.Values[id][j])
}
