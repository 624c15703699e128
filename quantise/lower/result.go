package lower

import (
	"maps"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// QuantiseInput rounds the real values of each input to integers (model.Graph.RoundInputs), and
// counts those that were clamped. For an input that is only compared with thresholds it
// counts, instead of these, the values that rounding has moved across a threshold.
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

// Dequantise returns the real values that integers v of tensor id stand for.
func (m *Result) Dequantise(id model.TensorID, v []int32) []float64 {
	return m.Graph.Tensors[id].Reals(v)
}

// Result is what lowering gives: the public circuit, the weights that the key
// commits to, and what is needed to move inputs and outputs between real
// numbers and integers.
type Result struct {
	Circuit *model.Template
	// Graph is the instance of the circuit that is run: at first with the sizes that the float
	// model has, for texts up to a usual length.
	Graph   *model.Graph
	Weights model.Weights
	// Values are the names of the inputs of the float model and then those of its nodes'
	// results, in order; of the model for a batch of two if the batch is free (Pair). Ranges and
	// Formats are those that they were quantised with.
	Values  []string
	Ranges  map[string]Range
	Formats Formats
	// OneBatch says why the batch is not a free dimension of the circuit although
	// the model leaves it open. It is nil if the batch is one, or if the model fixes it.
	OneBatch error
	// Blocks are the parts of the circuit whose bounds do not follow from intervals of single steps.
	Blocks []fixed.Block
	// Steps has the precision of every look-up that rounds.
	Steps []fixed.StepReport

	Making       *weights.Recipe // how to make the weights, while a search may take them away again; nil afterwards
	Underprecise []string        // values with a format for weights of which half the channels have fewer than goodWeightBits
	Clamps       []fixed.Clamp   // the rows of look-ups that count as saturation
	// Held has, by the names of values of the float graph, the tensors that hold their entries in
	// row-major order. Values that are only held clamped, or not at all, are left out.
	Held      map[string]model.TensorID
	StepNames map[string]string                  // by value: the name of its node, as the steps have it
	Asked     map[model.TensorID][][]graph.Split // inputs that are only compared with thresholds: these, by feature
}

// At returns the model with the instance of its circuit for other sizes of the free dimensions.
func (m *Result) At(in model.Instance) (*Result, error) {
	g, err := m.Circuit.At(in)
	if err != nil {
		return nil, err
	}
	other := *m
	other.Graph = g
	return &other, nil
}

// Chosen is a value with a format of its own, and the cost of its node.
type Chosen struct {
	Value string
	Format
	// LookUps is the number of entries that the steps of the value's node look up, and
	// TableRows the number of rows of the tables that no other node looks up.
	LookUps, TableRows int
}

// LookUps returns the number of entries that steps look up, by the steps' names, and for every table the names of the steps
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

// Saturated counts the clamped entries of a run at one node.
type Saturated struct {
	Count int // entries that were clamped
	Of    int // entries that could have been
}

// Saturation counts, by node of the model (the printable name that its steps have), the entries of a run that were clamped to
// the calibrated range, and those for which a function was not defined and a stand-in was taken for its
// value. Nodes without such entries are left out. The number that a proof of the same run states is at least as
// large (model.Table.Saturated).
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
