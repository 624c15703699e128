package quantise

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// lowering is one pass over a float graph.
type lowering struct {
	*builder
	fg     *graph.Graph
	ranges map[string]Range
	opts   Options
	stats  *weightStats
	length *length // nil if none is free

	values map[string]*value
	node   *graph.Node // being lowered
	// weights are those of fixed tensors whose values follow from them, the circuit and
	// the key.
	weights map[model.TensorID]*constantWeights
	// roundeds are the constants among them that have one scale.
	roundeds      map[roundedConstant]model.TensorID
	stream        map[string]int                     // scales of sums (streams)
	scalings      map[string]*scaling                // of inputs
	chains        map[string]*scaling                // the same by the values of their chains
	discontinuous map[string]bool                    // values that something with jumps reads
	powers        map[string]bool                    // values that logarithms of powers alone read
	asked         map[model.TensorID][][]graph.Split // inputs that are only compared with thresholds
	classes       map[model.TensorID]classes         // of extended inputs

	underprecise []string // values with a format for weights of which half the channels have few bits for all that
	maxBits      int      // activation bits that leave the weights enough of the bound
}

// at says which node the steps that follow belong to, and returns the one before.
func (l *lowering) at(n *graph.Node) (before *graph.Node) {
	before = l.node
	l.node, l.name = n, n.Name
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

	// pending is the value as an accumulator, not committed; nil for a value
	// that is a function of an earlier one.
	pending *expr
	// fn says that the value is a function of another value, entry by entry
	// (in row-major order: the shapes may differ).
	fn     *function
	affine *affine // if it is an affine function; pending is set as well
	// channels says that the value is another one with each channel scaled, in place
	// of all else.
	channels *perChannel

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
}

func newLowering(fg *graph.Graph, ranges map[string]Range, opts Options, stats *weightStats) *lowering {
	l := &lowering{
		builder: newBuilder(fg.Name, &stats.columns), fg: fg, ranges: ranges, opts: opts, stats: stats,
		values: map[string]*value{}, weights: map[model.TensorID]*constantWeights{}, roundeds: map[roundedConstant]model.TensorID{},
		scalings: map[string]*scaling{}, chains: map[string]*scaling{},
		asked: map[model.TensorID][][]graph.Split{}, classes: map[model.TensorID]classes{}, maxBits: 15,
	}
	l.ownTables = len(opts.Formats) > 0
	return l
}

// again returns another pass over the same graph, with this plan.
func (l *lowering) again(p plan) *lowering {
	next := newLowering(l.fg, l.ranges, l.opts, l.stats)
	next.plan, next.batch = p, l.batch
	next.free(l.length.again())
	return next
}

// run lowers every node and returns all refusals as one error.
func (l *lowering) run() error {
	l.stream, l.discontinuous, l.powers = l.streams(), discontinuous(l.fg), powers(l.fg)
	for _, in := range l.fg.Inputs {
		if s := l.scaling(in); s != nil {
			l.scalings[in.Name] = s
		}
	}
	uses := map[string]int{}
	for _, n := range l.fg.Nodes {
		for _, in := range n.Inputs {
			uses[in]++
		}
	}
	outputs := map[string]bool{}
	for _, o := range l.fg.Outputs {
		uses[o]++
		outputs[o] = true
	}
	for _, in := range l.fg.Inputs {
		v := &value{name: in.Name, shape: in.Shape, rng: l.ranges[in.Name], uses: uses[in.Name], id: model.None, shaped: model.None}
		if model.Size(v.shape) == 0 {
			v.id = l.empty(v)
			l.g.Inputs = append(l.g.Inputs, v.id)
		} else {
			v.id = l.input(v)
		}
		v.shaped = v.id
		l.values[in.Name] = v
	}
	var errs []error
	for _, n := range l.fg.Nodes {
		l.at(n)
		out := n.Output
		v := &value{name: out, node: n, shape: l.fg.Shapes[out], rng: l.ranges[out], uses: uses[out], output: outputs[out], id: model.None, shaped: model.None}
		ok, err := l.lower(n, v)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w%s", describe(n), err, l.coarser(n)))
		}
		if ok {
			l.values[out] = v
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, o := range l.fg.Outputs {
		id, err := l.outputTensor(o)
		if err != nil {
			return err
		}
		l.g.Outputs = append(l.g.Outputs, id)
	}
	l.markSaturated()
	printableNames(l.g)
	return nil
}

// coarser says which formats may be at fault for a refusal of a node, in a model that has
// some: those of the node and of what it reads, or else any.
func (l *lowering) coarser(n *graph.Node) string {
	if len(l.opts.Formats) == 0 || l.opts.searched {
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
		v.id = l.empty(v)
		v.shaped = v.id
		return true, nil
	}
	for _, in := range n.Inputs {
		if l.values[in] == nil && l.fg.Consts[in] == nil {
			return false, nil
		}
	}
	err = try(func() {
		switch s := l.chains[n.Output]; {
		case s == nil:
			operatorOf(n.Op).lower(l, n, v)
		case n.Output == s.last:
			l.scaledInput(v, s)
		}
	})
	return err == nil, err
}

// empty adds the tensor of an input or output without entries.
func (l *lowering) empty(v *value) model.TensorID {
	id := model.TensorID(len(l.g.Tensors))
	l.g.Tensors = append(l.g.Tensors, model.Tensor{Name: v.name, Shape: v.shape, Kind: model.Empty})
	return id
}

func (l *lowering) outputTensor(name string) (id model.TensorID, err error) {
	v := l.values[name]
	if v == nil {
		return 0, fmt.Errorf("output %q is not computed from the inputs", name)
	}
	l.at(&graph.Node{Name: name, Op: graph.Identity{}})
	err = try(func() { id = l.tensor(v) })
	if err != nil {
		err = fmt.Errorf("output %q: %w", name, err)
	}
	return id, err
}

// consumer returns the one node that reads the value; nil if there are more.
func (l *lowering) consumer(v *value) *graph.Node {
	if v.uses != 1 {
		return nil
	}
	for _, n := range l.fg.Nodes {
		for _, in := range n.Inputs {
			if in == v.name {
				return n
			}
		}
	}
	return nil
}

// finish returns the model of the last pass, which has given the template, but for its
// weights (weightStats.fill). in is the instance that runs at first.
func (l *lowering) finish(t *model.Template, in model.Instance) (*Model, error) {
	m := &Model{
		Circuit: t, Weights: make(model.Weights, len(t.Graph.Tensors)), Values: Values(l.fg), Ranges: l.ranges,
		Blocks: l.blocks, clamps: l.clamps, entries: l.held(), nodes: map[string]string{}, asked: l.asked, Formats: l.opts.Formats, underprecise: l.underprecise,
	}
	for _, n := range l.fg.Nodes {
		m.nodes[n.Output] = model.PrintableName(n.Name)
	}
	for _, s := range l.steps {
		m.Steps = append(m.Steps, s.StepReport)
	}
	var err error
	if m.Graph, err = t.At(in); err != nil {
		return nil, fmt.Errorf("quantised graph: %w", err)
	}
	m.making = &making{graph: l.g, list: l.fixeds}
	return m, nil
}

// log2 of a positive number, rounded down.
func floorLog2(x float64) int {
	if x <= 0 {
		return math.MinInt32
	}
	_, e := math.Frexp(x)
	return e - 1
}

// pow2 is 2^e as a real number.
func pow2(e int) float64 { return math.Ldexp(1, e) }
