// Package lower lowers a float graph to a circuit of integers, operator by operator, with the
// number formats that it is given. A family of operators is a file with their lowerings and
// their entries in the table (register); nothing else goes by the type of an operator.
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
	given  Formats // of opts, of which integers have none
	memory *Memory
	length *length                  // nil if none is free
	wholes map[string]*graph.Tensor // constants for the bound of a free length
	uses   Uses                     // of the graph's values

	values map[string]*value
	node   *graph.Node // being lowered
	// weights are those of fixed tensors whose values follow from them, the circuit and
	// the key.
	weights map[model.TensorID]*weights.Constant
	// roundeds are the constants among them that have one scale.
	roundeds      map[roundedConstant]model.TensorID
	stream        map[string]int                       // scales of sums (streams)
	chains        map[string]*scaling                  // scalings of inputs by the values of their chains
	discontinuous map[string]bool                      // values that something with jumps reads
	powers        map[string]bool                      // values that logarithms of powers alone read
	asked         map[model.TensorID][][]graph.Split   // inputs that are only compared with thresholds
	classes       map[model.TensorID]classes           // of extended inputs
	chosen        map[[2]model.TensorID]model.TensorID // products of slots and of what their experts read
	secrets       map[*graph.Tensor]*secret            // by what stands in their place
	read          atomic.Pointer[secret]               // one that the node being lowered has read

	underprecise []string // values with a format for weights of which half the channels have few bits for all that
	maxBits      int      // activation bits that leave the weights enough of the bound
}

// at says which node the steps that follow belong to, and returns the one before.
func (l *lowering) at(n *graph.Node) (before *graph.Node) {
	before = l.node
	l.node, l.StepName = n, n.Name
	return before
}

// value is a tensor of the float graph.
type value struct {
	name   string
	node   *graph.Node // that computes it, for messages; nil for an input
	shape  []int
	rng    Range
	uses   int
	output bool

	// acc is the value as an accumulator, not committed; nil for a value
	// that is a function of an earlier one.
	acc *fixed.Int
	// fn says that the value is a function of another value, entry by entry
	// (in row-major order: the shapes may differ).
	fn     *function
	affine *affine // if it is an affine function; acc is set as well
	// channels says that the value is another one with each channel scaled, in place
	// of all else.
	channels *perChannel

	own        int  // bits of the format of a value that the graph does not have; 0 of others
	unreported bool // clamping it says nothing about the calibration
	clipped    bool // the tensor has less than the value's range

	// useful, if positive, is a magnitude beyond which the one function that
	// reads the value is flat: precision is better spent below.
	useful float64
	// low, if positive, is the size of the low limb if the value is held in two.
	low int

	id     model.TensorID // the tensor, once one is needed; None before
	shaped model.TensorID // the same in the value's shape
	narrow map[int]model.TensorID
	// clamped has the tensors of an integer within ±(2^bits − 1), by bits.
	clamped map[int]model.TensorID
}

// pending is a value that no tensor holds yet.
func pending(v value) *value {
	v.id, v.shaped = model.None, model.None
	return &v
}

// heldIn is a value that a tensor holds, in its shape.
func heldIn(id model.TensorID, v value) *value {
	v.id, v.shaped = id, id
	return &v
}

func newLowering(fg *graph.Graph, ranges map[string]Range, opts Options, memory *Memory) *lowering {
	given := opts.Formats
	opts.Formats = maps.Clone(given)
	maps.DeleteFunc(opts.Formats, func(name string, _ Format) bool { return isInteger(fg, name) }) // which are exact
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

// nextPass returns another pass over the same graph, with this plan.
func (l *lowering) nextPass(p fixed.Plan) *lowering {
	opts := l.opts
	opts.Formats = l.given
	next := newLowering(l.real, l.ranges, opts, l.memory)
	next.Plan, next.Batch = p, l.Batch
	next.free(l.length)
	return next
}

// run lowers every node. It refuses with all refusals as one.
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

// atFault says which formats may be at fault for a refusal of a node, in a model that has
// some: those of the node and of what it reads, or else any.
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

// lower lowers one node. It reports false if it could not, with an error
// unless that is because an input could not be lowered.
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
		if s := l.read.Swap(nil); s != nil { // its numbers would decide on the circuit
			refuse.With("its constant %s would be part of the circuit, which is public, and not of what is hidden", graph.Quote(s.name))
		}
	})
	return err == nil, err
}

// place adds the tensor of an input, or of an output without entries, as it is.
func (l *lowering) place(t model.Tensor) model.TensorID {
	l.Circuit.Tensors = append(l.Circuit.Tensors, t)
	return model.TensorID(len(l.Circuit.Tensors) - 1)
}

// consumer returns the one node that reads the value; nobody if there are more.
func (l *lowering) consumer(v *value) *graph.Node {
	if readers := l.uses.Readers[v.name]; v.uses == 1 && len(readers) > 0 {
		return readers[0]
	}
	return nobody
}

// nobody is a node that does nothing with what it reads.
var nobody = &graph.Node{Op: graph.Identity{}}

// finish returns the model of the last pass, which has given the template, but for its
// weights (Memory.Fill). in is the instance that runs at first.
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

// improved derives the plan of the final pass from what a pass with the
// largest tables met.
func (l *lowering) improved(p fixed.Plan) fixed.Plan {
	opts := l.opts
	bits := min(fixed.WantedBits, opts.ActBits-1, l.maxBits)
	// need is the table size with which every step has its wanted bits.
	need, entries := 0, 0
	for _, s := range l.Steps {
		need = max(need, s.NeedTable)
		entries += s.Entries
	}
	need += bits - p.Bits
	free := fixed.FloorLog2(float64(max(entries, 1))) // a table of this size is no more than the look-ups themselves
	n := min(need, max(fixed.CheapTable, free))
	// Below that, lose precision, but not too much of it.
	n = max(n, need-(bits-min(bits, fixed.EnoughBits)))
	n = min(max(n, fixed.SmallTable, bits+1), opts.MaxTableBits)
	// Use the room that is left.
	for bits < min(opts.ActBits-1, l.maxBits, fixed.WantedBits+1) && need+1 <= n {
		bits++
		need++
	}
	return fixed.Plan{TableBits: n, Bits: bits}
}

// choose chooses what all look-ups share and lowers the model with that. A first
// pass with the largest tables shows how far static bounds and calibrated ranges
// are apart, which fixes table size and precision; the next builds the circuit, and
// one more does so without tables that have too few uses.
func (l *lowering) choose() *lowering {
	l.Plan = fixed.Plan{TableBits: l.opts.MaxTableBits, Bits: min(12, l.opts.ActBits-1)}
	l.Draft = true
	l.run()
	for p := l.improved(l.Plan); ; p.TableBits++ {
		l = l.nextPass(p)
		l.run()
		// Static bounds depend on the tables as well: a smaller one clamps less.
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
