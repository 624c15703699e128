// Package lower lowers a float graph to a circuit of integers, operator by operator, with the
// number formats that it is given. Each family of operators has a file with the functions that lower
// them and their entries in the table of operators (register). Other code asks about operators by their
// Traits, but for a few tests for a single operator.
//
// Lowering is lazy. The value of a node is at first an accumulator, or a function of an earlier
// value. It becomes a tensor only when something needs its entries: so a convolution, its bias and
// the activation after it are one look-up, and a chain of element-wise functions of one value
// is one table.
package lower

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// lowering is one pass over a float graph.
type lowering struct {
	*fixed.Builder
	fg     *graph.Graph // with stand-ins for secret constants
	real   *graph.Graph // without
	ranges map[string]Range
	opts   Options
	given  Formats // those of the caller; opts.Formats has them without those of integer values
	memory *Memory
	length *length                  // nil if none is free
	wholes map[string]*graph.Tensor // constants whose shape depends on the free length, as they are at its bound
	uses   Uses                     // of the graph's values

	values map[string]*value
	node   *graph.Node // being lowered
	// weights has the constants that fixed tensors were made from, for tensors whose entries follow
	// from the constant, the circuit and the key.
	weights map[model.TensorID]*weights.Constant
	// roundeds has those of these tensors whose entries are all rounded to one scale (rounded).
	roundeds      map[roundedConstant]model.TensorID
	stream        map[string]int                       // the scale of each sum in a stream (streams)
	chains        map[string]*scaling                  // the scaling that a value is part of (scaling)
	discontinuous map[string]bool                      // values that an operator whose result jumps reads
	powers        map[string]bool                      // values that only logarithms of powers read
	asked         map[model.TensorID][][]graph.Split   // the thresholds, by feature, of inputs that are only compared with some
	classes       map[model.TensorID]classes           // by extended input: where it has codes
	chosen        map[[2]model.TensorID]model.TensorID // by slots and operand: their product (lowerExperts)
	secrets       map[*graph.Tensor]*secret            // secret constants by their stand-ins
	read          atomic.Pointer[secret]               // one whose stand-in's numbers the node being lowered has read

	underprecise []string // values with a format for weights of which half the channels have fewer than goodWeightBits
	maxBits      int      // the most bits of activations that leave the weights enough bits in every product
}

// at sets the node of the steps that follow, and returns the one that was set before.
func (l *lowering) at(n *graph.Node) (before *graph.Node) {
	before = l.node
	l.node, l.StepName = n, n.Name
	return before
}

// value is a value of the float graph while the graph is lowered: an input or the result of a node. Until
// a tensor holds it (id), it is known as an accumulator (acc), as a function of an earlier value (fn), or as
// an earlier value with its channels scaled (channels).
type value struct {
	name   string
	node   *graph.Node // computes the value; nil for an input
	shape  []int
	rng    Range
	uses   int  // how often nodes read the value or the graph gives it out (Uses.number)
	output bool // whether it is an output of the model

	// acc is the value as an accumulator, which is not committed; nil for a value
	// that is a function of an earlier one.
	acc *fixed.Int
	// fn says that the value is a function of another value, entry by entry
	// (in row-major order: the shapes may differ).
	fn     *function
	affine *affine // set beside acc if the value is an affine function of an earlier one
	// channels says that the value is another one with each channel scaled. Then acc, fn
	// and id are not set.
	channels *perChannel

	own        int  // the format's bits, for a value that the lowering made up; 0 for values of the graph
	unreported bool // clamped entries are not counted as saturated (softenMask)
	clipped    bool // the tensor is clamped to less than the value's range, so that it does not hold the value

	// useful, if positive, is a magnitude beyond which the one function that reads the value is
	// flat: the value may be clamped there, for a finer scale.
	useful float64
	// low, if positive, is the number of bits of the low limb, if the value is rounded to two limbs.
	low int

	id     model.TensorID         // holds the entries in row-major order, once they are needed; None before
	shaped model.TensorID         // holds them in the value's shape; None before
	narrow map[int]model.TensorID // tensors with at most so many bits (narrowed)
	// clamped has the tensors of an integer that is clamped to ±(2^bits − 1), by bits (clampedInteger).
	clamped map[int]model.TensorID
}

// pending returns v as a value that no tensor holds yet.
func pending(v value) *value {
	v.id, v.shaped = model.None, model.None
	return &v
}

// heldIn returns v as a value whose entries tensor id holds, in the value's shape.
func heldIn(id model.TensorID, v value) *value {
	v.id, v.shaped = id, id
	return &v
}

// newLowering returns a pass over fg that has not run. Its plan is still to be set.
func newLowering(fg *graph.Graph, ranges map[string]Range, opts Options, memory *Memory) *lowering {
	given := opts.Formats
	opts.Formats = maps.Clone(given)
	maps.DeleteFunc(opts.Formats, func(name string, _ Format) bool { return isInteger(fg, name) }) // they are exact
	l := &lowering{
		Builder: fixed.NewBuilder(fg.Name, &memory.columns), ranges: ranges, opts: opts, given: given, memory: memory, uses: UsesOf(fg),
		values: map[string]*value{}, weights: map[model.TensorID]*weights.Constant{}, roundeds: map[roundedConstant]model.TensorID{},
		chains: map[string]*scaling{},
		asked:  map[model.TensorID][][]graph.Split{}, maxBits: 15,
		secrets: map[*graph.Tensor]*secret{},
	}
	l.fg, l.real = l.hidden(fg), fg
	l.OwnTables = len(given) > 0
	return l
}

// nextPass returns a new pass over the same graph, with plan p.
func (l *lowering) nextPass(p fixed.Plan) *lowering {
	opts := l.opts
	opts.Formats = l.given
	next := newLowering(l.real, l.ranges, opts, l.memory)
	next.Plan, next.Batch = p, l.Batch
	next.free(l.length)
	return next
}

// run lowers the inputs, every node and the outputs. If nodes are refused it goes on with the others,
// and then refuses with the errors of all of them.
func (l *lowering) run() {
	l.stream, l.discontinuous, l.powers = l.streams(), discontinuous(l.fg), powers(l.fg)
	for _, in := range l.fg.Inputs {
		v := pending(value{name: in.Name, shape: in.Shape, rng: l.ranges[in.Name], uses: l.uses.number(in.Name)})
		v.id = l.input(v, in.Numbers)
		l.values[in.Name] = v
	}
	var errs []error
	for _, n := range l.fg.Nodes {
		l.at(n)
		out := n.Output
		v := pending(value{name: out, node: n, shape: l.fg.Shapes[out], rng: l.ranges[out], uses: l.uses.number(out)})
		v.output = l.uses.outputs[out] > 0
		ok, err := l.lower(n, v)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w%s", describe(n), err, l.atFault(n)))
		}
		if ok {
			l.values[out] = v
		}
	}
	must.OK(errors.Join(errs...))
	for _, o := range l.fg.Outputs {
		l.at(&graph.Node{Name: o, Op: graph.Identity{}})
		if err := refuse.Caught(func() { l.Circuit.Outputs = append(l.Circuit.Outputs, l.tensor(l.values[o])) }); err != nil {
			refuse.With("output %q: %w", o, err)
		}
	}
	l.MarkSaturated()
	fixed.PrintableNames(l.Circuit)
}

// atFault returns the end of the message with which a node is refused: which formats the caller may
// make smaller. These are the formats of the node's result and operands, or, if they have none, of any value
// before. It returns "" if the model has no formats, or if a search chose them.
func (l *lowering) atFault(n *graph.Node) string {
	if len(l.given) == 0 || l.opts.Searched {
		return ""
	}
	var own []string
	for _, name := range slices.Concat([]string{n.Output}, n.Inputs) {
		if f, ok := l.opts.Formats[name]; ok {
			own = append(own, fmt.Sprintf("%q (%d bits, weights of %d)", name, f.Bits, f.Weights))
		}
	}
	if own == nil {
		return ": give values before it formats of fewer bits, or none"
	}
	return ": give formats of fewer bits, or none, to " + strings.Join(own, ", ")
}

// lower lowers one node. It reports false if it could not: with an error if the node itself is
// refused, without one if an operand had not been lowered.
func (l *lowering) lower(n *graph.Node, v *value) (ok bool, err error) {
	if model.Size(v.shape) == 0 {
		v.id = l.place(model.Tensor{Name: v.name, Shape: v.shape, Kind: model.Empty})
		return true, nil
	}
	in := make([]*value, len(n.Inputs))
	for i, name := range n.Inputs {
		if in[i] = l.values[name]; in[i] == nil && l.fg.Consts[name] == nil {
			return false, nil
		}
	}
	err = refuse.Caught(func() {
		l.hideable(n)
		switch s := l.chains[n.Output]; {
		case s == nil:
			operatorOf(n.Op).lower(l, v, in)
			if l.integers(v.name) {
				l.keepInteger(v)
			}
		case n.Output == s.last:
			l.scaledInput(v, s)
		}
		if s := l.read.Swap(nil); s != nil { // the circuit would depend on a secret constant
			refuse.With("its constant %s would be part of the circuit, which is public, and not of what is hidden", graph.Quote(s.name))
		}
	})
	return err == nil, err
}

// place adds the tensor of an input, or of a value without entries, without the checks of Builder.Add.
func (l *lowering) place(t model.Tensor) model.TensorID {
	l.Circuit.Tensors = append(l.Circuit.Tensors, t)
	return model.TensorID(len(l.Circuit.Tensors) - 1)
}

// consumer returns the node that reads the value, if that is the value's only use, and nobody otherwise.
func (l *lowering) consumer(v *value) *graph.Node {
	if readers := l.uses.Readers[v.name]; v.uses == 1 && len(readers) > 0 {
		return readers[0]
	}
	return nobody
}

// nobody stands for no node: its operator does nothing.
var nobody = &graph.Node{Op: graph.Identity{}}

// finish returns the result of the last pass, l, whose circuit is the template t. The weights are still to be
// made (Memory.Fill). in has the sizes of the free dimensions that the model is run with at first.
func (l *lowering) finish(t *model.Template, in model.Instance) *Result {
	m := &Result{
		Circuit: t, Weights: make(model.Weights, len(t.Graph.Tensors)), Values: Values(l.fg), Ranges: l.ranges,
		Blocks: l.Blocks, Steps: l.Steps, Clamps: l.Clamps, Held: map[string]model.TensorID{}, StepNames: map[string]string{},
		Asked: l.asked, Formats: l.given, Underprecise: l.underprecise,
	}
	for name, v := range l.values {
		if v.id != model.None && !v.clipped {
			m.Held[name] = v.id
		}
	}
	for _, n := range l.fg.Nodes {
		m.StepNames[n.Output] = model.PrintableName(n.Name)
	}
	var err error
	if m.Graph, err = t.At(in); err != nil {
		refuse.With("quantised graph: %w", err)
	}
	m.Making = &weights.Recipe{Graph: l.Circuit, List: l.FixedTensors, To: m.Weights}
	return m
}

// improved derives the plan of the final pass from the steps of this one, a pass with the largest
// tables and the plan p.
func (l *lowering) improved(p fixed.Plan) fixed.Plan {
	opts := l.opts
	bits := min(fixed.WantedBits, opts.ActBits-1, l.maxBits)
	// need is the table size, in bits, with which every step has its wanted bits.
	need, entries := 0, 0
	for _, s := range l.Steps {
		need = max(need, s.NeedTable)
		entries += s.Entries
	}
	need += bits - p.Bits                             // the pass had p.Bits
	free := fixed.FloorLog2(float64(max(entries, 1))) // a table of this size has no more rows than there are look-ups
	n := min(need, max(fixed.CheapTable, free))
	// If n is less than need, values have fewer bits than wanted, but no fewer than EnoughBits.
	n = max(n, need-(bits-min(bits, fixed.EnoughBits)))
	n = min(max(n, fixed.SmallTable, bits+1), opts.MaxTableBits)
	// Room that is left in the table goes into more bits.
	for bits < min(opts.ActBits-1, l.maxBits, fixed.WantedBits+1) && need+1 <= n {
		bits++
		need++
	}
	return fixed.Plan{TableBits: n, Bits: bits}
}

// choose chooses the plan that all look-ups share and lowers the model with it. A first
// pass with the largest tables shows how far static bounds and calibrated ranges
// are apart. From that follow table size and precision. The next pass builds the circuit, and
// one more builds it without the tables that have too few uses.
func (l *lowering) choose() *lowering {
	l.Plan = fixed.Plan{TableBits: l.opts.MaxTableBits, Bits: min(12, l.opts.ActBits-1)}
	l.Draft = true
	l.run()
	for p := l.improved(l.Plan); ; p.TableBits++ {
		l = l.nextPass(p)
		l.run()
		// Static bounds depend on the tables as well, since a smaller one clamps less. So a step may still
		// have too few bits: then the next larger table is tried.
		coarse := slices.ContainsFunc(l.Steps, func(s fixed.StepReport) bool {
			return s.NeedTable > 1 && s.Bits < min(s.Wanted, fixed.EnoughBits)
		})
		if !coarse || p.TableBits == l.opts.MaxTableBits {
			break
		}
	}
	if p, some := l.Plan.WithUses(l.Builder); some {
		l = l.nextPass(p)
		l.run()
	}
	return l
}
