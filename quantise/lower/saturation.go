package lower

import (
	"maps"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Saturated counts entries of a run at one node.
type Saturated struct {
	Count int // entries that were clamped
	Of    int // entries that could have been
}

// Saturation counts, by model node (as steps name it: the name prints), the entries of a run that were clamped to
// the calibrated range, and those where a function was not defined and something
// stood in for its value. Nodes without any are left out. What a proof states of
// the same run is at least as much (model.Table.Saturated).
func (m *Result) Saturation(w *forward.Witness) map[string]Saturated {
	all := map[string]Saturated{}
	var questions []forward.KeyRange
	for _, c := range m.Clamps {
		first := m.Graph.Tables[m.Graph.Steps[c.Step].Table].Min
		for _, r := range c.Rows {
			questions = append(questions, forward.KeyRange{Step: c.Step, Min: first + r.From, Max: first + r.To - 1})
		}
	}
	counts := w.Count(questions)
	for _, c := range m.Clamps {
		step := &m.Graph.Steps[c.Step]
		s := all[step.Name]
		for range c.Rows {
			s.Count, counts = s.Count+counts[0], counts[1:]
		}
		s.Of += model.Size(step.Shape)
		all[step.Name] = s
	}
	maps.DeleteFunc(all, func(_ string, s Saturated) bool { return s.Count == 0 })
	return all
}
