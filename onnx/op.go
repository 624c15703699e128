package onnx

import (
	"fmt"
	"slices"
	"sort"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// op is a node of the file on its way into normal form. Its methods end the
// lowering of this node by [op.failf]; lowerNode collects the reason.
type op struct {
	*builder
	proto *onnxpb.NodeProto
	attrs map[string]*onnxpb.AttributeProto // not read yet
	first int                               // number of nodes before this one's
}

// nodeFailure is what failf panics with.
type nodeFailure struct{ reason string }

// failf ends the lowering of this node with a reason.
func (o *op) failf(format string, args ...any) {
	panic(nodeFailure{fmt.Sprintf(format, args...)})
}

// unknownOperators returns the nodes whose operator is not in the table.
func unknownOperators(f *fileGraph) NodesError {
	var errs NodesError
	for _, n := range f.nodes {
		if reason := f.unknownOperator(n); reason != "" {
			errs = append(errs, nodeError(n, reason))
		}
	}
	return errs
}

func (f *fileGraph) unknownOperator(n *onnxpb.NodeProto) string {
	if f.functions[[2]string{n.GetDomain(), n.GetOpType()}] {
		return "is a function of the model; inline functions before export"
	}
	if !standardDomain(n.GetDomain()) && !(n.GetDomain() == "com.microsoft" && n.GetOpType() == "Gelu") {
		return "operators of this domain are not supported"
	}
	if lowerings[n.GetOpType()] == nil {
		return "the operator is not supported"
	}
	return ""
}

func nodeError(n *onnxpb.NodeProto, reason string) NodeError {
	name := n.GetOpType()
	if !standardDomain(n.GetDomain()) {
		name = n.GetDomain() + "." + name
	}
	return NodeError{Op: name, Name: nodeName(n), Reason: reason}
}

// lowerNode makes the normal form of n, or notes why it cannot. A node that
// depends on one that failed is passed over.
func (b *builder) lowerNode(n *onnxpb.NodeProto) {
	fail := func(reason string) {
		if reason != "" {
			b.errs = append(b.errs, nodeError(n, reason))
		}
		for _, out := range n.Output {
			b.poisoned[out] = true
		}
	}
	if reason := b.file.unknownOperator(n); reason != "" {
		fail(reason)
		return
	}
	for _, in := range n.Input {
		if b.poisoned[in] {
			fail("")
			return
		}
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case nodeFailure:
			fail(r.reason)
		default:
			panic(r)
		}
	}()
	o := &op{builder: b, proto: n, attrs: map[string]*onnxpb.AttributeProto{}, first: len(b.nodes)}
	for _, a := range n.Attribute {
		if o.attrs[a.GetName()] != nil {
			o.failf("attribute %s occurs twice", quote(a.GetName()))
		}
		o.attrs[a.GetName()] = a
	}
	lowerings[n.GetOpType()](o)
	if len(o.attrs) > 0 {
		var names []string
		for a := range o.attrs {
			names = append(names, quote(a))
		}
		sort.Strings(names)
		o.failf("attribute not supported: %v", names)
	}
	for _, out := range n.Output {
		if b.alias[out] == "" && b.file.uses[out] > 0 {
			o.failf("its output %s is not supported", quote(out))
		}
	}
}

// Inputs.

// has says whether input i is present.
func (o *op) has(i int) bool { return i < len(o.proto.Input) && o.proto.Input[i] != "" }

// in returns the value of input i.
func (o *op) in(i int) string {
	if !o.has(i) {
		o.failf("input %d is missing", i)
	}
	return o.alias[o.proto.Input[i]]
}

// arity fails unless there are between least and most inputs.
func (o *op) arity(least, most int) {
	if n := len(o.proto.Input); n < least || n > most {
		o.failf("has %d inputs; %d to %d are expected", n, least, most)
	}
}

// isConst says whether a value is constant.
func (o *op) isConst(v string) bool { return o.consts[v] != nil }

// ints returns the elements of integer constant input i; what names it in the
// message when it is computed.
func (o *op) intsInput(i int, what string) []int64 {
	v := o.in(i)
	t := o.consts[v]
	if t == nil {
		o.failf("%s must be constant, but %s depends on the model's input", what, quote(v))
	}
	if t.I64 == nil {
		o.failf("%s must be integers, but %s has type %v", what, quote(v), t.DType)
	}
	if len(t.Shape) > 1 {
		o.failf("%s has shape %v", what, t.Shape)
	}
	return t.I64
}

// scalarInput returns the one element of constant input i.
func (o *op) scalarInput(i int, what string) float64 {
	v := o.in(i)
	t := o.consts[v]
	if t == nil {
		o.failf("%s must be constant, but %s depends on the model's input", what, quote(v))
	}
	if t.Len() != 1 {
		o.failf("%s must be one number, but %s has shape %v", what, quote(v), t.Shape)
	}
	return t.At(0)
}

// Attributes. Reading one takes it off the list; what is left at the end was
// not understood.

// attr takes an attribute, and checks its type where the file states one.
func (o *op) attr(name string, want onnxpb.AttributeProto_AttributeType) *onnxpb.AttributeProto {
	a := o.attrs[name]
	delete(o.attrs, name)
	if a != nil && a.GetType() != want && a.GetType() != onnxpb.AttributeProto_UNDEFINED {
		o.failf("attribute %s has type %v", name, a.GetType())
	}
	return a
}

func (o *op) intAttr(name string, def int64) int64 {
	if a := o.attr(name, onnxpb.AttributeProto_INT); a != nil {
		return a.GetI()
	}
	return def
}

// flagAttr returns an attribute that is 0 or 1.
func (o *op) flagAttr(name string, def bool) bool {
	d := int64(0)
	if def {
		d = 1
	}
	v := o.intAttr(name, d)
	if v != 0 && v != 1 {
		o.failf("attribute %s is %d, not 0 or 1", name, v)
	}
	return v == 1
}

// intsAttr returns nil when the attribute is absent.
func (o *op) intsAttr(name string) []int64 {
	a := o.attr(name, onnxpb.AttributeProto_INTS)
	if a == nil {
		return nil
	}
	if a.Ints == nil {
		return []int64{}
	}
	return a.Ints
}

func (o *op) floatAttr(name string, def float64) float64 {
	a := o.attr(name, onnxpb.AttributeProto_FLOAT)
	if a == nil {
		return def
	}
	f := float64(a.GetF())
	if f-f != 0 {
		o.failf("attribute %s is %v", name, f)
	}
	return f
}

func (o *op) strAttr(name, def string) string {
	if a := o.attr(name, onnxpb.AttributeProto_STRING); a != nil {
		return string(a.GetS())
	}
	return def
}

// ignore takes attributes that do not matter to inference.
func (o *op) ignore(names ...string) {
	for _, n := range names {
		delete(o.attrs, n)
	}
}

// axis resolves an axis that may count from the end of rank axes.
func (o *op) axis(a int64, rank int) int {
	if a < -int64(rank) || a >= int64(rank) {
		o.failf("axis %d of a tensor with %d axes", a, rank)
	}
	if a < 0 {
		a += int64(rank)
	}
	return int(a)
}

// axes resolves a list of distinct axes and sorts it.
func (o *op) axes(list []int64, rank int) []int {
	out := make([]int, len(list))
	if len(list) > rank {
		o.failf("%d axes named of a tensor with %d", len(list), rank)
	}
	for i, a := range list {
		out[i] = o.axis(a, rank)
	}
	slices.Sort(out)
	for i := 1; i < len(out); i++ {
		if out[i] == out[i-1] {
			o.failf("axis %d is named twice", out[i])
		}
	}
	return out
}

// Results.

// set is an attribute of an emitted node.
type set func(*Node)

// ints makes an integer attribute.
func ints[T int | int64](key string, v ...T) set {
	w := make([]int64, len(v))
	for i := range v {
		w[i] = int64(v[i])
	}
	return func(n *Node) {
		if n.Ints == nil {
			n.Ints = map[string][]int64{}
		}
		n.Ints[key] = w
	}
}

// flag makes an integer attribute of 0 or 1.
func flag(key string, v bool) set {
	if v {
		return ints(key, 1)
	}
	return ints(key, 0)
}

// float makes a float attribute.
func float(key string, v float64) set {
	return func(n *Node) {
		if n.Floats == nil {
			n.Floats = map[string]float64{}
		}
		n.Floats[key] = v
	}
}

// str makes a string attribute.
func str(key, v string) set {
	return func(n *Node) { n.Strs = map[string]string{key: v} }
}

// emit adds a node and returns its value; with constant inputs alone, it
// computes the value instead. A computed value of a float type is Float.
func (o *op) emit(kind string, shape []int, dt DType, inputs []string, attrs ...set) string {
	if dt.IsFloat() {
		dt = Float
	}
	s := make([]int64, len(shape))
	for i, d := range shape {
		s[i] = int64(d)
	}
	if _, err := checkShape(s); err != nil {
		o.failf("output: %v", err)
	}
	name := o.unique(nodeName(o.proto) + "/" + kind)
	n := &Node{Op: kind, Name: name, Inputs: inputs, Outputs: []string{name}}
	for _, set := range attrs {
		set(n)
	}
	constant := true
	for _, in := range inputs {
		constant = constant && o.isConst(in)
	}
	if constant {
		o.fold(n, shape, dt)
		return name
	}
	if !isNormal(kind) {
		o.failf("%s is supported on constants only, and %s depends on the model's input", kind, quote(o.firstComputed(inputs)))
	}
	for _, in := range inputs {
		if size(o.shapes[in]) == 0 {
			o.failf("%s is empty", quote(in))
		}
	}
	if size(shape) == 0 {
		o.failf("its output of shape %v is empty", shape)
	}
	if size(shape) > maxActivations-o.activations {
		o.failf("its output of shape %v is too large: all computed values together may have %d elements", shape, maxActivations)
	}
	o.activations += size(shape)
	o.shapes[name], o.dtypes[name] = shape, dt
	o.producer[name] = n
	o.nodes = append(o.nodes, n)
	return name
}

func (o *op) firstComputed(values []string) string {
	for _, v := range values {
		if !o.isConst(v) {
			return v
		}
	}
	return ""
}

// fold computes a node of constants.
func (o *op) fold(n *Node, shape []int, dt DType) {
	if size(shape) > o.foldBudget {
		o.failf("the constant of shape %v that it makes is too large", shape)
	}
	o.foldBudget -= size(shape)
	operands := make([]operand, len(n.Inputs))
	for i, in := range n.Inputs {
		operands[i] = constOperand(o.consts[in])
	}
	out, err := evaluate(n, operands, shape)
	if err != nil {
		o.failf("%v", err)
	}
	t, err := out.tensor(dt)
	if err != nil {
		o.failf("computing it from constants: %v", err)
	}
	o.constant(n.Output(), t)
}

// constant enters a constant under a name that is taken for it.
func (o *op) constant(name string, t *Tensor) {
	o.shapes[name], o.dtypes[name], o.consts[name] = t.Shape, t.DType, t
}

// floats makes a float constant.
func (o *op) floats(what string, shape []int, v []float32) string {
	name := o.unique(nodeName(o.proto) + "/" + what)
	o.constant(name, &Tensor{Shape: shape, DType: Float, F32: v})
	return name
}

// scalar makes a float constant of shape [].
func (o *op) scalar(what string, v float64) string {
	return o.floats(what, []int{}, []float32{float32(v)})
}

// result makes v the file's output i. A value that this very node made takes
// the output's name and, if computed, the node's.
func (o *op) result(i int, v string) {
	if i >= len(o.proto.Output) {
		o.failf("has no output %d", i)
	}
	out := o.proto.Output[i]
	if out == "" {
		return
	}
	mine := o.producer[v] != nil && slices.Contains(o.nodes[o.first:], o.producer[v])
	if mine && o.alias[v] == "" {
		n := o.producer[v]
		n.Name = nodeName(o.proto)
		o.rename(v, out, o.nodes[o.first:])
		v = out
	}
	o.alias[out] = v
}
