package lower

import (
	"maps"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// QuantiseInput rounds the real values of each input to integers (RoundInputs), and
// counts those that were clamped. Of an input that is only compared with thresholds it
// counts in their place the values that rounding has moved across one.
func (m *Result) QuantiseInput(inputs [][]float64) (ints [][]int32, saturated int, err error) {
	if ints, saturated, err = m.Graph.RoundInputs(inputs); err != nil {
		return nil, 0, err
	}
	for i, id := range m.Graph.Inputs {
		if splits := m.Asked[id]; splits != nil {
			t := &m.Graph.Tensors[id]
			saturated += misjudged(t, splits, inputs[i], ints[i]) - t.Clamped(inputs[i])
		}
	}
	return ints, saturated, nil
}

// Dequantise returns the real values that integers of a tensor stand for.
func (m *Result) Dequantise(id model.TensorID, v []int32) []float64 {
	return m.Graph.Tensors[id].Reals(v)
}

// Result is what lowering gives: the public circuit, the weights that the key
// commits to, and what is needed to move inputs and outputs between real
// numbers and integers.
type Result struct {
	Circuit *model.Template
	// Graph is the instance of the circuit that runs: at first that of the float
	// model's sizes.
	Graph   *model.Graph
	Weights model.Weights
	// Values are the names of the inputs of the float model, then of what its nodes
	// compute, in order: for a batch of two if the batch is free (Pair). Ranges and
	// Formats are what they were quantised with.
	Values  []string
	Ranges  map[string]Range
	Formats Formats
	// OneBatch says why the batch is not a free dimension of the circuit though
	// the model leaves it open; nil if it is one, or if the model fixes it.
	OneBatch error
	// Blocks say where steps begin whose bounds need an argument of their own.
	Blocks []fixed.Block
	// Steps tells the precision of every look-up that rounds.
	Steps []fixed.StepReport

	Making       *weights.Recipe // while a search may take the weights away; else nil
	Underprecise []string        // values whose weights have few bits in half the channels, in spite of their format
	Clamps       []fixed.Clamp
	// Held has the tensors that hold values of the float graph, by name, entry by
	// entry in row-major order.
	Held      map[string]model.TensorID
	StepNames map[string]string                  // the steps' names by value
	Asked     map[model.TensorID][][]graph.Split // of inputs that are only compared with thresholds
}

// At returns the model with another instance of its circuit.
func (m *Result) At(in model.Instance) (*Result, error) {
	g, err := m.Circuit.At(in)
	if err != nil {
		return nil, err
	}
	other := *m
	other.Graph = g
	return &other, nil
}

// Chosen is a value with a format of its own, and what its node costs.
type Chosen struct {
	Value string
	Format
	// LookUps is the number of entries that the steps of the value's node look up,
	// TableRows that of the rows of tables which no step of another node has.
	LookUps, TableRows int
}

// LookUps counts the entries that steps look up by their name, and returns for every table the names of the steps
// that look it up.
func (m *Result) LookUps() (entries map[string]int, users []map[string]bool) {
	entries, users = map[string]int{}, make([]map[string]bool, len(m.Graph.Tables))
	for i := range m.Graph.Steps {
		if s := &m.Graph.Steps[i]; s.Kind == model.StepLookup {
			entries[s.Name] += model.Size(s.Shape)
			if users[s.Table] == nil {
				users[s.Table] = map[string]bool{}
			}
			users[s.Table][s.Name] = true
		}
	}
	return entries, users
}

// Chosen lists the values with formats of their own, in the order of Values.
func (m *Result) Chosen() []Chosen {
	lookUps, users := m.LookUps()
	var list []Chosen
	for _, name := range m.Values {
		f, ok := m.Formats[name]
		if !ok {
			continue
		}
		c := Chosen{Value: name, Format: f}
		if node, ok := m.StepNames[name]; ok {
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

// Outputs returns the real values of every output of a run.
func (m *Result) Outputs(w *forward.Witness) [][]float64 {
	out := make([][]float64, len(m.Graph.Outputs))
	for i, id := range m.Graph.Outputs {
		out[i] = m.Dequantise(id, w.Tensor(id))
	}
	return out
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
