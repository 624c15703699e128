// Package inspect describes models, keys and proofs.
package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/quantise"
)

// Model describes a float graph in normal form, and its quantised form.
type Model struct {
	Name       string `json:"name"`
	Parameters int    `json:"parameters"`
	Inputs     []IO   `json:"inputs"`
	Outputs    []IO   `json:"outputs"`
	Nodes      []Node `json:"nodes"`
	// Precision describes the quantised model. Refused says why there is none.
	Precision []Precision `json:"precision,omitempty"`
	// Formats lists the values that got a finer format than the usual one, so that the
	// outputs come close to the float model's.
	Formats []Format `json:"formats,omitempty"`
	Refused string   `json:"refused,omitempty"`
	// Estimate is set if the model can be quantised.
	Estimate *Estimate `json:"estimate,omitempty"`
}

// IO is an input or output of a graph.
type IO struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
}

// Node is an operation of the graph. Constants among its inputs have a shape, too.
type Node struct {
	Op     string `json:"op"`
	Name   string `json:"name"`
	Inputs []IO   `json:"inputs"`
	Output IO     `json:"output"`
}

// Precision describes one rounding look-up of the quantised model.
type Precision struct {
	Node      string `json:"node"`
	Entries   int    `json:"entries"`
	Bits      int    `json:"bits"`  // that hold the calibrated range, without sign
	Frac      int    `json:"frac"`  // values are multiples of 2^(−Frac)
	Shift     int    `json:"shift"` // number of bits that are rounded away
	TableBits int    `json:"table_bits"`
}

// Format is the format of a value that got a finer one than usual.
type Format struct {
	Value string `json:"value"`
	Bits  int    `json:"bits,omitempty"` // that hold the calibrated range, without sign; 0: as usual
	// WeightBits is the number of bits of the largest of the weights that the value is
	// multiplied with; 0: as many as the accumulator allows.
	WeightBits int `json:"weight_bits,omitempty"`
	LookUps    int `json:"look_ups"`   // number of entries that its node looks up
	TableRows  int `json:"table_rows"` // number of rows of tables that only its node uses
}

// quantise adds the report on the quantised model.
func (m *Model) quantise(r provemodel.Report) {
	m.Precision = seq.Map(r.Steps, func(s quantise.StepReport) Precision {
		return Precision{s.Node, s.Entries, s.Bits, s.Frac, s.Shift, s.TableBits}
	})
	m.Formats = seq.Map(r.Chosen, func(c quantise.Chosen) Format { return Format{c.Value, c.Bits, c.Weights, c.LookUps, c.TableRows} })
}

// OfModel describes a float model.
func OfModel(f *provemodel.Model) *Model {
	g := f.Graph()
	io := func(s provemodel.Spec) IO { return IO(s) }
	m := &Model{Name: g.Name, Parameters: f.Parameters(), Inputs: seq.Map(f.Inputs(), io), Outputs: seq.Map(f.Outputs(), io)}
	for _, n := range g.Nodes {
		node := Node{Op: graph.Kind(n.Op), Name: n.Name, Output: IO{n.Output, g.Shapes[n.Output]}}
		for _, in := range n.Inputs {
			node.Inputs = append(node.Inputs, IO{in, g.Shapes[in]})
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m
}

// Print writes the description as text.
func (m *Model) Print(w io.Writer) {
	ui.Line(w, "model", "%s, %d parameters, %d nodes in normal form", m.Name, m.Parameters, len(m.Nodes))
	for _, in := range m.Inputs {
		ui.Line(w, "input", "%s %v", in.Name, in.Shape)
	}
	for _, out := range m.Outputs {
		ui.Line(w, "output", "%s %v", out.Name, out.Shape)
	}
	m.Estimate.print(w)
	fmt.Fprintln(w)
	ui.Table(w, []string{"op", "node", "output", "inputs"}, seq.Map(m.Nodes, func(n Node) []string {
		in := seq.Map(n.Inputs, func(x IO) []string { return ui.Cells("%s %v", x.Name, x.Shape) })
		return ui.Cells("%s\t%s\t%v\t%s", n.Op, n.Name, n.Output.Shape, strings.Join(slices.Concat(in...), ", "))
	}))
	fmt.Fprintln(w)
	if m.Refused != "" {
		fmt.Fprintf(w, "cannot be quantised: %s\n", ui.PrintableLines(m.Refused))
		return
	}
	ui.Table(w, []string{"rounded at", "entries", "bits", "unit", "shift", "table bits"}, seq.Map(m.Precision, func(p Precision) []string {
		return ui.Cells("%s\t%d\t%d\t2^%d\t%d\t%d", p.Node, p.Entries, p.Bits, -p.Frac, p.Shift, p.TableBits)
	}))
	if len(m.Formats) == 0 {
		return
	}
	fmt.Fprintln(w)
	usual := func(bits int) string {
		if bits == 0 {
			return "usual"
		}
		return fmt.Sprint(bits)
	}
	ui.Table(w, []string{"made more precise", "bits", "weights", "look-ups", "table rows"}, seq.Map(m.Formats, func(f Format) []string {
		return ui.Cells("%s\t%s\t%s\t%d\t%d", f.Value, usual(f.Bits), usual(f.WeightBits), f.LookUps, f.TableRows)
	}))
}
