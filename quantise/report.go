package quantise

import (
	"maps"
	"math"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Accuracy compares a quantised output with the float one.
type Accuracy struct {
	MaxError float64 // largest absolute difference
	Range    float64 // of the float output: from its least value, or 0, to its greatest, or 0
	Relative float64 // MaxError/Range; 0 if both are 0
	Cosine   float64 // of the angle between the two; 1 if both are zero
}

// Compare returns the accuracy of got against want, which are of one length.
func Compare(got, want []float64) Accuracy {
	var a Accuracy
	var dot, gg, ww, lo, hi float64
	for i, w := range want {
		if w-w != 0 || got[i]-got[i] != 0 { // NaN, or infinite: right or altogether wrong
			if got[i] != w && !(got[i] != got[i] && w != w) {
				a.MaxError = math.Inf(1)
			}
			continue
		}
		a.MaxError = math.Max(a.MaxError, math.Abs(got[i]-w))
		lo, hi = math.Min(lo, w), math.Max(hi, w)
		// The conversions forbid fused multiply-adds.
		dot, gg, ww = dot+float64(got[i]*w), gg+float64(got[i]*got[i]), ww+float64(w*w)
	}
	a.Range = hi - lo
	switch {
	case a.MaxError == 0:
	case a.Range == 0:
		a.Relative = math.Inf(1)
	case math.IsInf(a.MaxError, 1):
		a.Relative = math.Inf(1)
	default:
		a.Relative = a.MaxError / a.Range
	}
	switch {
	case gg == 0 && ww == 0:
		a.Cosine = 1
	case gg > 0 && ww > 0:
		a.Cosine = dot / math.Sqrt(gg*ww)
	}
	return a
}

// Chosen is a value with a format of its own, and what its node costs.
type Chosen struct {
	Value string
	Format
	// LookUps is the number of entries that the steps of the value's node look up,
	// TableRows that of the rows of tables which no step of another node has.
	LookUps, TableRows int
}

// Chosen lists the values with formats of their own, in the order of Values.
func (m *Model) Chosen() []Chosen {
	users := make([]map[string]bool, len(m.Graph.Tables))
	lookUps := map[string]int{}
	for i := range m.Graph.Steps {
		s := &m.Graph.Steps[i]
		if s.Kind != model.StepLookup {
			continue
		}
		lookUps[s.Name] += model.Size(s.Shape)
		if users[s.Table] == nil {
			users[s.Table] = map[string]bool{}
		}
		users[s.Table][s.Name] = true
	}
	var list []Chosen
	for _, name := range m.Values {
		f, ok := m.Formats[name]
		if !ok {
			continue
		}
		c := Chosen{Value: name, Format: f}
		if node, ok := m.nodes[name]; ok {
			c.LookUps = lookUps[node]
			for t, by := range users {
				if len(by) == 1 && by[node] {
					c.TableRows += 1 << m.Graph.Tables[t].Bits
				}
			}
		}
		list = append(list, c)
	}
	return list
}

// Saturated counts entries of a run at one node.
type Saturated struct {
	Count int // entries that were clamped
	Of    int // entries that could have been
}

// Saturation counts, by model node (as steps name it: the name prints), the entries of a run that were clamped to
// the calibrated range, and those where a function was not defined and something
// stood in for its value. Nodes without any are left out. What a proof states of
// the same run is at least as much (model.Table.Saturated).
func (m *Model) Saturation(w *forward.Witness) map[string]Saturated {
	all := map[string]Saturated{}
	add := func(node string, count, of int) {
		s := all[node]
		all[node] = Saturated{s.Count + count, s.Of + of}
	}
	var questions []forward.KeyRange
	for _, c := range m.clamps {
		first := m.Graph.Tables[m.Graph.Steps[c.step].Table].Min
		for _, r := range c.rows {
			questions = append(questions, forward.KeyRange{Step: c.step, Min: first + r.From, Max: first + r.To - 1})
		}
	}
	counts := w.Count(questions)
	for _, c := range m.clamps {
		n := 0
		for range c.rows {
			n, counts = n+counts[0], counts[1:]
		}
		step := &m.Graph.Steps[c.step]
		add(step.Name, n, model.Size(step.Shape))
	}
	maps.DeleteFunc(all, func(_ string, s Saturated) bool { return s.Count == 0 })
	return all
}

// Outputs returns the real values of every output of a run.
func (m *Model) Outputs(w *forward.Witness) [][]float64 {
	out := make([][]float64, len(m.Graph.Outputs))
	for i, id := range m.Graph.Outputs {
		out[i] = m.Dequantise(id, w.Tensor(id))
	}
	return out
}
