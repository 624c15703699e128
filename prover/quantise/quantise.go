package quantise

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/model"
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
			r, ok := ranges[name]
			if !ok {
				r = Range{math.Inf(1), math.Inf(-1), math.Inf(1)}
			}
			for _, v := range values {
				if math.IsNaN(v) { // not a number: Quantise refuses the range
					r = Range{v, v, v}
					break
				}
				r = Range{min(r.Min, v), max(r.Max, v), min(r.Least, math.Abs(v))}
			}
			ranges[name] = r
		}
	}
	return ranges
}

// Options are the choices the caller may make. Zero values mean the default.
type Options struct {
	// Mode is "auto" (the widest precision the bounds allow; the default) or
	// "w8a8" (8-bit weights and activations).
	Mode string
	// WeightBits bounds the signed mantissa of a weight: 2 to 16. Default 16,
	// in w8a8 mode 8.
	WeightBits int
	// ActBits bounds an activation, sign included: 4 to 16. Default 16, in
	// w8a8 mode 8.
	ActBits int
	// Headroom multiplies the calibrated ranges: at least 1. Default 2.
	Headroom float64
	// MaxTableBits bounds the tables: 10 to model.MaxTableBits, the default.
	MaxTableBits int
	// ChunkEntries is the size of a chunk in witness entries. Default 2^22.
	ChunkEntries int
}

// withDefaults checks the options and fills in the defaults.
func (o Options) withDefaults() (Options, error) {
	bits := 16
	switch o.Mode {
	case "", "auto":
		o.Mode = "auto"
	case "w8a8":
		bits = 8
	default:
		return o, fmt.Errorf("unknown quantisation mode %q: use auto or w8a8", o.Mode)
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
	if o.MaxTableBits == 0 {
		o.MaxTableBits = model.MaxTableBits
	}
	if o.ChunkEntries == 0 {
		o.ChunkEntries = 1 << 22
	}
	switch {
	case o.WeightBits < 2 || o.WeightBits > 16:
		return o, fmt.Errorf("weight bits %d: want 2 to 16", o.WeightBits)
	case o.ActBits < 4 || o.ActBits > 16:
		return o, fmt.Errorf("activation bits %d: want 4 to 16", o.ActBits)
	case !(o.Headroom >= 1 && o.Headroom <= 1<<20):
		return o, fmt.Errorf("headroom %g: want at least 1", o.Headroom)
	case o.MaxTableBits < 10 || o.MaxTableBits > model.MaxTableBits:
		return o, fmt.Errorf("table bits %d: want 10 to %d", o.MaxTableBits, model.MaxTableBits)
	case o.ChunkEntries < 1:
		return o, fmt.Errorf("chunk of %d entries", o.ChunkEntries)
	}
	return o, nil
}

// Model is a quantised model: the public graph, the weights that the key
// commits to, and what is needed to move inputs and outputs between real
// numbers and integers.
type Model struct {
	Graph   *model.Graph
	Weights model.Weights
	// Steps tells the precision of every look-up that rounds.
	Steps []StepReport

	clamps  []clamp
	outside []outside
}

// StepReport is the precision of one rounding look-up.
type StepReport struct {
	Node      string
	Entries   int
	Bits      int // of the calibrated range, head-room included, sign excluded
	Wanted    int // what Bits would be with tables large enough
	Frac      int // the result is an integer times 2^−Frac
	Shift     int
	TableBits int
}

// Quantise quantises fg. ranges holds the calibrated range of every graph
// input and node output (Ranges of what RunFloat returned).
//
// The error names every node that cannot be quantised, with the reason.
func Quantise(fg *graph.Graph, ranges map[string]Range, opts Options) (*Model, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	for _, in := range fg.Inputs {
		if _, ok := ranges[in.Name]; !ok {
			return nil, fmt.Errorf("no calibrated range for input %q", in.Name)
		}
	}
	for _, n := range fg.Nodes {
		r, ok := ranges[n.Output]
		if !ok {
			return nil, fmt.Errorf("no calibrated range for %q", n.Output)
		}
		if math.IsNaN(r.Min+r.Max) || math.IsInf(r.Min, 0) || math.IsInf(r.Max, 0) {
			return nil, fmt.Errorf("%s: the float model gives values that are not finite%s", describe(n), domain(n.Op))
		}
	}
	// A first pass with the largest tables shows how far static bounds and
	// calibrated ranges are apart, which fixes table size and precision; the
	// next builds the graph.
	stats := &weightStats{}
	p := plan{tableBits: opts.MaxTableBits, bits: min(12, opts.ActBits-1)}
	l := newLowering(fg, ranges, opts, p, stats)
	l.draft = true
	if err := l.run(); err != nil {
		return nil, err
	}
	for p = p.improve(l, opts); ; {
		l = newLowering(fg, ranges, opts, p, stats)
		if err := l.run(); err != nil {
			return nil, err
		}
		// Static bounds depend on the tables as well: a smaller one clamps less.
		if l.precise() || p.tableBits == opts.MaxTableBits {
			return l.finish()
		}
		p.tableBits++
	}
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
