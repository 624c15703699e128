package quantise

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Range tells which real values calibration met: their interval, and the
// smallest magnitude among them.
type Range struct{ Min, Max, Least float64 }

// abs returns the largest magnitude in the range.
func (r Range) abs() float64 { return math.Max(math.Abs(r.Min), math.Abs(r.Max)) }

// Union returns the range of the values of both.
func (r Range) Union(o Range) Range {
	return Range{math.Min(r.Min, o.Min), math.Max(r.Max, o.Max), math.Min(r.Least, o.Least)}
}

// Ranges returns the range of every tensor over the given runs of the float
// model (each: values by tensor name, inputs included).
func Ranges(runs ...map[string][]float64) map[string]Range {
	ranges := map[string]Range{}
	for _, run := range runs {
		for name, values := range run {
			r := NewRange(values)
			if old, ok := ranges[name]; ok {
				r = r.Union(old)
			}
			ranges[name] = r
		}
	}
	for name, r := range ranges {
		ranges[name] = r.plusNone()
	}
	return ranges
}

// plusNone has the range of no values be that of 0.
func (r Range) plusNone() Range {
	if r.Min > r.Max {
		return Range{}
	}
	return r
}

// NewRange returns the range of some values: not a number if one is none, which Quantise
// refuses.
func NewRange(values []float64) Range {
	r := Range{math.Inf(1), math.Inf(-1), math.Inf(1)}
	for _, v := range values {
		if math.IsNaN(v) {
			return Range{v, v, v}
		}
		r = Range{min(r.Min, v), max(r.Max, v), min(r.Least, math.Abs(v))}
	}
	return r
}

// Options are the choices the caller may make. Zero values mean the default.
type Options struct {
	// Mode is "auto" (the precision that the bounds allow in one accumulator, and
	// more for the values whose Formats say so; the default), "w8a8" (8-bit weights
	// and activations) or "exact" (of which Choose makes formats that are wide
	// everywhere).
	Mode string
	// WeightBits bounds the signed mantissa of a weight: 2 to 16. Default 16,
	// in w8a8 mode 8.
	WeightBits int
	// ActBits bounds an activation, sign included: 4 to 16. Default 16, in
	// w8a8 mode 8.
	ActBits int
	// Headroom multiplies the calibrated ranges: at least 1. Default 2.
	Headroom float64
	// Target is the error of the outputs, in units of their range, that Choose chooses
	// formats for: above 0, at most 1. Default Target. Logits over a vocabulary are
	// judged by a divergence that is in proportion.
	Target float64
	// MaxTableBits bounds the tables: 10 to model.MaxTableBits, the default. It
	// does not bind values with a format of their own.
	MaxTableBits int
	// Formats are those of values that are to be more precise than the mode has
	// them. Names of other graphs are ignored.
	Formats Formats
	// Length is the bound of the length of texts: if the model leaves that open
	// (function Length), it is a free dimension of the circuit. 0: it is fg's own.
	Length int

	searched bool // the formats are those of a search, which no caller can change
}

const (
	modeAuto  = "auto"
	modeW8A8  = "w8a8"
	modeExact = "exact"
)

// withDefaults checks the options and fills in the defaults.
func (o Options) withDefaults() (Options, error) {
	bits := 16
	switch o.Mode {
	case "", modeAuto:
		o.Mode = modeAuto
	case modeExact:
	case modeW8A8:
		bits = 8
	default:
		return o, fmt.Errorf("unknown quantisation mode %q: use auto, exact or w8a8", o.Mode)
	}
	if o.WeightBits == 0 {
		o.WeightBits = bits
	}
	if o.ActBits == 0 {
		o.ActBits = bits
	}
	if o.Headroom == 0 {
		o.Headroom = 2
	}
	if o.Target == 0 {
		o.Target = Target
	}
	if o.MaxTableBits == 0 {
		o.MaxTableBits = model.MaxTableBits
	}
	for name, f := range o.Formats {
		if err := f.check(); err != nil {
			return o, fmt.Errorf("value %q: %w", name, err)
		}
	}
	switch {
	case o.WeightBits < 2 || o.WeightBits > 16:
		return o, fmt.Errorf("weight bits %d: want 2 to 16", o.WeightBits)
	case o.ActBits < 4 || o.ActBits > 16:
		return o, fmt.Errorf("activation bits %d: want 4 to 16", o.ActBits)
	case !(o.Headroom >= 1 && o.Headroom <= 1<<20):
		return o, fmt.Errorf("headroom %g: want at least 1", o.Headroom)
	case !(o.Target > 0 && o.Target <= 1):
		return o, fmt.Errorf("target of the error %g: want above 0 and at most 1", o.Target)
	case o.MaxTableBits < 10 || o.MaxTableBits > model.MaxTableBits:
		return o, fmt.Errorf("table bits %d: want 10 to %d", o.MaxTableBits, model.MaxTableBits)
	}
	return o, nil
}

// Model is a quantised model: the public circuit, the weights that the key
// commits to, and what is needed to move inputs and outputs between real
// numbers and integers.
type Model struct {
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
	// Blocks are parts of the circuit whose bounds need an argument of their own.
	Blocks []Block
	// Steps tells the precision of every look-up that rounds.
	Steps []StepReport

	making       *making  // while a search may take the weights away; else nil
	underprecise []string // values whose weights have few bits in half the channels, in spite of their format
	clamps       []clamp
	// entries has the tensors that hold values of the float graph, by name, entry by
	// entry in row-major order.
	entries map[string]model.TensorID
	nodes   map[string]string                  // the steps' names by value
	asked   map[model.TensorID][][]graph.Split // of inputs that are only compared with thresholds
}

// StepReport is the precision of one rounding look-up.
type StepReport struct {
	Node      string
	Entries   int // of one element of the batch, if that is free
	Bits      int // of the calibrated range, head-room included, sign excluded
	Wanted    int // what Bits would be with tables large enough
	Frac      int // the result is an integer times 2^−Frac
	Shift     int
	TableBits int
}

// Quantise quantises fg. ranges holds the calibrated range of every graph
// input and node output (Ranges of what RunFloat returned), whatever the size of
// the batch.
//
// If the leading axis of all inputs is one that the model leaves open, it is a
// free dimension of the circuit, which does not depend on fg's size of it then;
// unless what the model computes depends on it in another way than by repeating
// itself, which Model.OneBatch tells. With opts.Length the length of texts is one, up
// to that, and it is an error if it cannot be.
//
// The error names every node that cannot be quantised, with the reason.
func Quantise(fg *graph.Graph, ranges map[string]Range, opts Options) (*Model, error) {
	stats := &weightStats{}
	m, err := quantise(fg, ranges, opts, stats)
	if err != nil {
		return nil, err
	}
	stats.fill(m)
	m.making = nil
	return m, nil
}

// quantise is Quantise with what is known of the weights, which it does not make.
func quantise(fg *graph.Graph, ranges map[string]Range, opts Options, stats *weightStats) (*Model, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if symbol := Length(fg); symbol != "" && opts.Length > 0 {
		m, err := quantiseLength(fg, ranges, opts, stats, symbol)
		if err != nil {
			return nil, fmt.Errorf("dimension %q: %w", symbol, err)
		}
		return m, nil
	}
	var oneBatch error
	if batch := Batch(fg); batch != "" {
		m, err := quantiseFree(fg, ranges, opts, stats, batch)
		if err == nil {
			return m, nil
		}
		oneBatch = fmt.Errorf("dimension %q: %w", batch, err)
	}
	if err := checkRanges(fg, ranges); err != nil {
		return nil, err
	}
	l, err := newLowering(fg, ranges, opts, stats).choose()
	if err != nil {
		return nil, err
	}
	m, err := l.finish(&model.Template{Graph: l.g}, model.Instance{})
	if err != nil {
		return nil, err
	}
	m.OneBatch = oneBatch
	return m, nil
}

// Values lists the names of the inputs of a float model, then of what its nodes
// compute, in order.
func Values(fg *graph.Graph) []string {
	var names []string
	for _, v := range fg.Inputs {
		names = append(names, v.Name)
	}
	for _, n := range fg.Nodes {
		names = append(names, n.Output)
	}
	return names
}

// checkRanges checks that every input and node has a range, and a finite one.
func checkRanges(fg *graph.Graph, ranges map[string]Range) error {
	for _, in := range fg.Inputs {
		if _, ok := ranges[in.Name]; !ok {
			return fmt.Errorf("no calibrated range for input %q", in.Name)
		}
	}
	for _, in := range fg.Inputs {
		if ranges[in.Name].abs() >= infinity {
			return fmt.Errorf("input %q has −∞, or a number that stands for it: fix the input, as a mask that is part of the model", in.Name)
		}
	}
	for _, n := range fg.Nodes {
		r, ok := ranges[n.Output]
		if !ok {
			return fmt.Errorf("no calibrated range for %q", n.Output)
		}
		if math.IsNaN(r.Min+r.Max) || math.IsInf(r.Min, 0) || math.IsInf(r.Max, 0) {
			return fmt.Errorf("%s: the float model gives values that are not finite%s", describe(n), domain(n.Op))
		}
	}
	return nil
}

// choose chooses what all look-ups share and lowers the model with that. A first
// pass with the largest tables shows how far static bounds and calibrated ranges
// are apart, which fixes table size and precision; the next builds the circuit, and
// one more does so without tables that have too few uses.
func (l *lowering) choose() (*lowering, error) {
	l.plan = plan{tableBits: l.opts.MaxTableBits, bits: min(12, l.opts.ActBits-1)}
	l.draft = true
	if err := l.run(); err != nil {
		return nil, err
	}
	for p := l.plan.improve(l, l.opts); ; p.tableBits++ {
		l = l.again(p)
		if err := l.run(); err != nil {
			return nil, err
		}
		// Static bounds depend on the tables as well: a smaller one clamps less.
		if l.precise() || p.tableBits == l.opts.MaxTableBits {
			break
		}
	}
	p, some := l.plan.withUses(l.builder)
	if !some {
		return l, nil
	}
	l = l.again(p)
	return l, l.run()
}

// At returns the model with another instance of its circuit.
func (m *Model) At(in model.Instance) (*Model, error) {
	g, err := m.Circuit.At(in)
	if err != nil {
		return nil, err
	}
	other := *m
	other.Graph = g
	return &other, nil
}

// domain says where a function is defined, if that is not everywhere.
func domain(op graph.Op) string {
	s, ok := op.(graph.Scalar)
	if !ok || s.Func.Domain == (graph.Domain{}) {
		return ""
	}
	return fmt.Sprintf(": %s is defined on [%g, %g]", s.Func.Name, s.Func.Domain.Lo, s.Func.Domain.Hi)
}

func describe(n *graph.Node) string { return fmt.Sprintf("node %q (%s)", n.Name, n.Op.Kind()) }
