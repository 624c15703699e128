package onnx

import (
	"maps"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// inner is what a file's readers share about bodies: graphs that are attributes of If,
// Loop and Scan nodes, and are expanded in place.
type inner struct {
	constants map[*onnxpb.TensorProto]*graph.Tensor // decoded initializers of bodies
	written   int                                   // number of nodes of bodies expanded so far
}

// Limits on expanded bodies.
const (
	maxWritten = 1 << 14 // nodes of all bodies, counted each time that a body is expanded
	maxTrips   = 1 << 12 // trips of one loop
)

// Added in init, because these lowerings use the table to lower their bodies.
func init() {
	lowerings["If"], lowerings["Loop"], lowerings["Scan"] = lowering{1, 1, lowerIf}, lowering{2, many, lowerLoop}, lowering{0, many, lowerScan}
}

// reads lists the values that a node depends on: its inputs, the values of the enclosing
// graph that its bodies read, and the value whose gradient a Gradient computes.
func reads(n *onnxpb.NodeProto) []string {
	list := n.Input
	for _, a := range n.Attribute {
		if n.GetDomain() == training && a.GetName() == "y" { // the value whose gradient is computed
			list = append(slices.Clone(list), string(a.GetS()))
		}
		if a.G != nil {
			list = append(slices.Clone(list), captured(a.G)...)
		}
	}
	return list
}

// captured lists the values that a body reads but does not define, each once.
func captured(g *onnxpb.GraphProto) []string {
	own := map[string]bool{"": true}
	var list []string
	// take adds names to own, and returns those that it did not have.
	take := func(names []string) (list []string) {
		for _, name := range names {
			if !own[name] {
				own[name] = true
				list = append(list, name)
			}
		}
		return list
	}
	take(each(g.Input, (*onnxpb.ValueInfoProto).GetName))
	take(each(g.Initializer, (*onnxpb.TensorProto).GetName))
	for _, n := range g.Node {
		take(n.Output)
	}
	for _, n := range g.Node {
		list = append(list, take(reads(n))...)
	}
	return append(list, take(each(g.Output, (*onnxpb.ValueInfoProto).GetName))...)
}

// body returns an attribute that must be a graph.
func (o *op) body(name string) *onnxpb.GraphProto {
	a := o.attr(name, onnxpb.AttributeProto_GRAPH)
	o.failIf(a == nil || a.G == nil, "has no %s", name)
	o.failIf(len(a.G.SparseInitializer) > 0, "sparse initializers are not supported")
	return a.G
}

// inline expands a body with the given values as its inputs, and returns its outputs.
func (o *op) inline(g *onnxpb.GraphProto, inputs []graph.Value) []graph.Value {
	o.failIf(len(inputs) != len(g.Input), "its body has %d inputs, and %d are given", len(g.Input), len(inputs))
	if o.file.inner.written += len(g.Node); o.file.inner.written > maxWritten {
		o.failf("bodies of loops and branches written out have more than %d nodes", maxWritten)
	}
	file := *o.file
	in := &reader{Builder: o.Builder, file: &file, opset: o.opset, values: maps.Clone(o.values), nested: true, types: maps.Clone(o.types), narrows: o.narrows,
		sequences: maps.Clone(o.sequences)}
	for i, v := range g.Input {
		in.values[v.GetName()] = inputs[i]
		in.types[v.GetName()] = graph.DType(v.GetType().GetTensorType().GetElemType())
	}
	for _, p := range g.Initializer {
		t := o.file.inner.constants[p]
		if t == nil {
			refuse.Within("initializer "+graph.Quote(p.GetName()), func() { t = decode(p, o.file.source.external) })
			o.file.inner.constants[p] = t
		}
		in.values[p.GetName()] = o.Constant("", o.narrows.exact(t, p))
	}
	producer := map[string]int{}
	for i, n := range g.Node {
		for _, out := range n.Output {
			if out != "" {
				delete(in.values, out)
				delete(in.sequences, out)
				producer[out] = i
			}
		}
	}
	order, err := sortNodes(g.Node, producer)
	o.failIf(err != nil, "its body: %v", err)
	outputs := each(g.Output, (*onnxpb.ValueInfoProto).GetName)
	var nodes []*onnxpb.NodeProto
	nodes, file.uses = neededNodes(g.Node, order, producer, outputs)
	for _, n := range nodes {
		in.lowerNode(n)
	}
	o.At(operatorName(o.proto), nodeName(o.proto))
	out := make([]graph.Value, len(g.Output))
	for i, name := range outputs {
		o.failIf(in.sequences[name] != nil, "its body gives %s, a sequence: a body gives tensors", graph.Quote(name))
		out[i] = in.values[name]
		o.shape(out[i]) // stops if a node of the body failed
	}
	return out
}

// lowerIf builds the branch that a constant condition selects. With a computed condition it
// builds both branches, and selects each result by the condition.
func lowerIf(o *op) {
	cond := o.in(0)
	o.failIf(o.DType(cond) != graph.Bool || graph.Size(o.shape(cond)) != 1,
		"its condition has shape %v and type %v", o.shape(cond), o.DType(cond))
	yes, no := o.body("then_branch"), o.body("else_branch")
	if t := o.Tensor(cond); t != nil {
		branch := no
		if t.I64[0] != 0 {
			branch = yes
		}
		o.results(o.inline(branch, nil))
		return
	}
	a, b := o.inline(yes, nil), o.inline(no, nil)
	o.failIf(len(a) != len(b), "its branches have %d and %d outputs", len(a), len(b))
	cond = o.Reshape(cond, []int{})
	for i := range a {
		o.failIf(!slices.Equal(o.shape(a[i]), o.shape(b[i])),
			"its condition depends on the model's input, and its branches give shapes %v and %v", o.shape(a[i]), o.shape(b[i]))
		if a[i] != b[i] {
			a[i] = o.Where(cond, a[i], b[i])
		}
	}
	o.results(a)
}

// results makes the values the outputs of the node. It skips zero Values.
func (o *op) results(list []graph.Value) {
	o.failIf(len(list) < len(o.proto.Output), "has %d outputs, and its body gives %d", len(o.proto.Output), len(list))
	for i := range o.proto.Output {
		if list[i] != (graph.Value{}) {
			o.result(i, list[i])
		}
	}
}

// lowerLoop unrolls the loop. The number of trips must be constant, and so must be the
// condition after each trip. The results are the last carried values, and the other
// outputs of all trips, stacked.
func lowerLoop(o *op) {
	body := o.body("body")
	trips, on := int64(o.scalarOr(0, "the number of trips", maxTrips+1)), o.scalarOr(1, "the condition", 1) != 0
	carried := o.inputs(2)
	o.failIf(len(body.Output) < 1+len(carried),
		"its body has %d outputs for %d values that are carried", len(body.Output), len(carried))
	scans := make([][]graph.Value, len(body.Output)-1-len(carried))
	for trip := int64(0); trip < trips && on; trip++ {
		o.failIf(trip == maxTrips, "makes more than %d trips", maxTrips)
		goOn := o.truths([]int{}, func(int) bool { return true })
		out := o.inline(body, append([]graph.Value{o.Integers([]int{}, []int64{trip}), goOn}, carried...))
		t := o.Tensor(out[0])
		if t == nil {
			o.failf("whether it makes another trip must be constant, but %s", o.Depends(out[0]))
		}
		o.failIf(t.Len() != 1, "whether it makes another trip has shape %v", t.Shape)
		on = t.At(0) != 0
		carried = out[1 : 1+len(carried)]
		for i, v := range out[1+len(carried):] {
			scans[i] = append(scans[i], v)
		}
	}
	list := slices.Clone(carried)
	for i, s := range scans {
		switch at := len(carried) + i; {
		case len(s) > 0:
			list = append(list, o.stacked(s, 0))
		case o.wanted(at):
			o.failf("makes no trip, so its output %d is empty", at)
		default:
			list = append(list, graph.Value{}) // nothing reads this output
		}
	}
	o.results(list)
}

// stacked joins values of the same shape along a new axis.
func (o *op) stacked(list []graph.Value, axis int64) graph.Value {
	in := o.shape(list[0])
	at := o.axis(axis, len(in)+1)
	shape := slices.Insert(slices.Clone(in), at, 1)
	rows := make([]graph.Value, len(list))
	for i, v := range list {
		o.failIf(!slices.Equal(o.shape(v), in), "its trips give shapes %v and %v", in, o.shape(v))
		rows[i] = o.Reshape(v, shape)
	}
	return o.Concat(at, rows...)
}

// lowerScan unrolls a loop over the elements of the node's last inputs along given axes.
// If the body treats all elements alike, it computes them at once instead (see mapped).
func lowerScan(o *op) {
	if o.opset < 9 {
		o.scanBatch()
		return
	}
	s := o.scan(0, len(o.proto.Input))
	s.inAxes, s.outAxes = o.scanList("scan_input_axes", s.scans), o.scanList("scan_output_axes", s.outputs)
	s.inBack, s.outBack = o.scanList("scan_input_directions", s.scans), o.scanList("scan_output_directions", s.outputs)
	in := o.inputs(0)
	out, ok := s.mapped(in)
	if !ok {
		out = s.run(in)
	}
	o.results(out)
}

// scanBatch is the Scan of operator set 8: a loop for each sample, along the axis after the
// batch.
func (o *op) scanBatch() {
	o.failIf(o.has(0), "lengths of sequences are not supported in operator set 8")
	s := o.scan(1, len(o.proto.Input))
	s.inAxes, s.outAxes = make([]int64, s.scans), make([]int64, s.outputs)
	s.inBack, s.outBack = o.scanList("directions", s.scans), make([]int64, s.outputs)
	samples := -1
	for i, x := range o.inputs(1) {
		in := o.shape(x)
		o.failIf(len(in) == 0 || samples >= 0 && in[0] != samples,
			"input %d has shape %v, without an axis of samples like the others'", 1+i, in)
		samples = in[0]
	}
	var all [][]graph.Value // by result
	for k := range samples {
		out := s.run(each(o.inputs(1), func(x graph.Value) graph.Value { return o.entry(x, 0, k) }))
		if all == nil {
			all = make([][]graph.Value, len(out))
		}
		for i, v := range out {
			all[i] = append(all[i], v)
		}
	}
	o.results(each(all, func(list []graph.Value) graph.Value { return o.stacked(list, 0) }))
}

// entry returns the part of x at one index of an axis. The result does not have the axis.
func (o *op) entry(x graph.Value, axis, at int) graph.Value {
	return o.Reshape(o.SliceAxis(x, axis, at, 1, 1), without(o.shape(x), axis))
}

// scan describes the loop of a Scan.
type scan struct {
	*op
	body                   *onnxpb.GraphProto
	states, scans, outputs int     // numbers of states, of scanned inputs, and of outputs that are collected over the trips
	inAxes, outAxes        []int64 // the scanned axis of each input, and the axis along which each output is stacked
	inBack, outBack        []int64 // for each of them, not 0 if it goes from the end to the beginning
}

// scan reads a Scan whose states and scanned values are the inputs from first to count −
// 1.
func (o *op) scan(first, count int) scan {
	s := scan{op: o, body: o.body("body"), scans: int(o.intAttr("num_scan_inputs", 0))}
	o.failIf(s.scans < 1 || s.scans > count-first, "scans %d of its %d inputs", s.scans, count-first)
	s.states = count - first - s.scans
	o.failIf(len(s.body.Output) < s.states, "its body has %d outputs for %d states", len(s.body.Output), s.states)
	s.outputs = len(s.body.Output) - s.states
	return s
}

// scanList returns an attribute that has the given number of entries, or zeros if it is
// absent.
func (o *op) scanList(name string, length int) []int64 {
	l := o.intsAttr(name)
	if l == nil {
		return make([]int64, length)
	}
	o.failIf(len(l) != length, "attribute %s has %d entries; %d are expected", name, len(l), length)
	return l
}

// run unrolls the loop. in has the initial states and then the scanned values. run returns
// the final states and the stacked outputs.
func (s scan) run(in []graph.Value) []graph.Value {
	state, scanned := in[:s.states], in[s.states:]
	trips := -1
	axes := make([]int, s.scans)
	for i, x := range scanned {
		shape := s.shape(x)
		axes[i] = s.axis(s.inAxes[i], len(shape))
		if d := shape[axes[i]]; trips >= 0 && d != trips {
			s.failf("scans axes of %d and %d elements", trips, d)
		} else {
			trips = d
		}
	}
	s.failIf(trips < 1 || trips > maxTrips, "makes %d trips; 1 to %d are supported", trips, maxTrips)
	collected := make([][]graph.Value, s.outputs)
	for trip := range trips {
		args := slices.Clone(state)
		for i, axis := range axes {
			at := trip
			if s.inBack[i] != 0 {
				at = trips - 1 - trip
			}
			args = append(args, s.entry(scanned[i], axis, at))
		}
		out := s.inline(s.body, args)
		state = out[:s.states]
		for i, v := range out[s.states:] {
			collected[i] = append(collected[i], v)
		}
	}
	all := slices.Clone(state)
	for i, list := range collected {
		if s.outBack[i] != 0 {
			slices.Reverse(list)
		}
		all = append(all, s.stacked(list, s.outAxes[i]))
	}
	return all
}
