package onnx

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// op reads one node of the file and builds its operations. Its methods stop reading the
// node (by a panic that lowerNode recovers) through [op.failf], or when they need a value
// that could not be made.
type op struct {
	*reader
	proto *onnxpb.NodeProto
	attrs map[string]*onnxpb.AttributeProto // not read yet
	said  bool                              // the lowering has recorded which results are labels, so carryLabels must not
}

// failf refuses the node with a reason; failIf does so if its first argument is true (see
// refuse.If).
func (*op) failf(format string, args ...any)           { refuse.With(format, args...) }
func (*op) failIf(is bool, format string, args ...any) { refuse.If(is, format, args...) }

// errNoted stops reading a node whose error the builder has recorded already.
var errNoted = errors.New("noted")

// lower builds the node's operations, and refuses the node if it is not fully understood.
func (o *op) lower() {
	for _, a := range o.proto.Attribute {
		o.failIf(o.attrs[a.GetName()] != nil, "attribute %s occurs twice", graph.Quote(a.GetName()))
		o.attrs[a.GetName()] = a
	}
	if o.opset < 7 {
		o.modernise()
	}
	o.Computes(o.stated())
	l := loweringOf(o.proto)
	if n := len(o.proto.Input); l.most == many && n < l.least {
		o.failf("has %d inputs; at least %d are expected", n, l.least)
	} else if n < l.least || n > l.most {
		o.failf("has %d inputs; %d to %d are expected", n, l.least, l.most)
	}
	switch read := onStrings[o.proto.GetOpType()]; {
	case !slices.ContainsFunc(o.proto.Input, o.texts.known):
		l.build(o)
		o.carryLabels()
	case read == nil:
		o.failf("takes strings, which is not supported: map them to numbers before the model")
	default:
		read(o)
	}
	o.failIf(len(o.attrs) > 0, "attribute not supported: %v", each(slices.Sorted(maps.Keys(o.attrs)), graph.Quote))
	for _, out := range o.proto.Output {
		o.failIf(!o.Valid(o.values[out]) && !o.texts.known(out) && o.sequences[out] == nil && o.file.uses[out] > 0,
			"its output %s is not supported", graph.Quote(out))
	}
}

// Inputs.

// has says whether input i is present.
func (o *op) has(i int) bool { return i < len(o.proto.Input) && o.proto.Input[i] != "" }

// in returns the value of input i.
func (o *op) in(i int) graph.Value {
	o.failIf(!o.has(i), "input %d is missing", i)
	o.failIf(o.sequences[o.proto.Input[i]] != nil, "input %d is a sequence, which only operators on sequences read", i)
	return o.values[o.proto.Input[i]]
}

// tensor returns the value of input i and its shape, which must not be changed.
func (o *op) tensor(i int) (graph.Value, []int) {
	v := o.in(i)
	return v, o.shape(v)
}

// inputs returns the values of the inputs with index from and above, all of which must be
// present.
func (o *op) inputs(from int) (list []graph.Value) {
	for i := from; i < len(o.proto.Input); i++ {
		list = append(list, o.in(i))
	}
	return list
}

// optional returns the value of input i, if it is present.
func (o *op) optional(i int) []graph.Value {
	if !o.has(i) {
		return nil
	}
	return []graph.Value{o.in(i)}
}

// shape returns the shape of a value, which must not be changed. It ends the
// reading of the node if the value could not be made.
func (o *op) shape(v graph.Value) []int {
	if !o.Valid(v) {
		must.OK(errNoted)
	}
	return o.Shape(v)
}

// ranked is tensor for an input that must have at least the given number of axes.
func (o *op) ranked(i, least int) (graph.Value, []int) {
	v, shape := o.tensor(i)
	o.failIf(len(shape) < least, "its input has shape %v", shape)
	return v, shape
}

// room stops the reading of the node unless a table with as many elements as the product
// of the sizes may still be made.
func (o *op) room(sizes ...int) {
	if !o.Room(sizes...) {
		must.OK(errNoted)
	}
}

// constantInput returns the tensor of input i, which must be constant. what names the
// input in the error if it is not.
func (o *op) constantInput(i int, what string) *graph.Tensor {
	v := o.in(i)
	t := o.Tensor(v)
	if t == nil {
		o.failf("%s must be constant, but %s", what, o.Depends(v))
	}
	return t
}

// intsInput returns the elements of input i, which must be a constant of integers with at
// most one axis.
func (o *op) intsInput(i int, what string) []int64 {
	t := o.constantInput(i, what)
	o.failIf(t.I64 == nil, "%s must be integers, but %s has type %v", what, graph.Quote(o.Name(o.in(i))), t.DType)
	o.failIf(len(t.Shape) > 1, "%s has shape %v", what, t.Shape)
	return t.I64
}

// intsOr is intsInput, or def where input i is absent.
func (o *op) intsOr(i int, what string, def []int64) []int64 {
	if !o.has(i) {
		return def
	}
	return o.intsInput(i, what)
}

// scalarInput returns the one element of constant input i.
func (o *op) scalarInput(i int, what string) float64 {
	return o.oneNumber(i, what, o.Tensor(o.in(i)))
}

// scalarOr is scalarInput, or def where input i is absent.
func (o *op) scalarOr(i int, what string, def float64) float64 {
	if !o.has(i) {
		return def
	}
	return o.scalarInput(i, what)
}

// boundOr is scalarOr for a bound, which may be infinite.
func (o *op) boundOr(i int, what string, def float64) float64 {
	if !o.has(i) {
		return def
	}
	x := o.oneNumber(i, what, o.AllNumbers(o.in(i)))
	o.failIf(math.IsNaN(x), "%s is NaN", what)
	return x
}

// oneNumber returns the only element of t, the tensor of input i; nil stands for a computed input.
func (o *op) oneNumber(i int, what string, t *graph.Tensor) float64 {
	v := o.in(i)
	if t == nil {
		o.failf("%s must be constant, but %s", what, o.Depends(v))
	}
	o.failIf(t.Len() != 1, "%s must be one number, but %s has shape %v", what, graph.Quote(o.Name(v)), t.Shape)
	return t.At(0)
}

// Attributes. Reading an attribute removes it from the list. Attributes that are left at
// the end were not understood.

// attr removes an attribute from the list and returns it, or nil if it is absent. It
// checks the type if the file states one.
func (o *op) attr(name string, want onnxpb.AttributeProto_AttributeType) *onnxpb.AttributeProto {
	a := o.attrs[name]
	delete(o.attrs, name)
	o.failIf(a != nil && a.GetType() != want && a.GetType() != onnxpb.AttributeProto_UNDEFINED,
		"attribute %s has type %v", name, a.GetType())
	return a
}

// intAttr, floatAttr and strAttr return an attribute, or def if it is absent.
func (o *op) intAttr(name string, def int64) int64 {
	if a := o.attr(name, onnxpb.AttributeProto_INT); a != nil {
		return a.GetI()
	}
	return def
}

// flagAttr returns an attribute that is 0 or 1.
func (o *op) flagAttr(name string, def bool) bool {
	v := o.intAttr(name, truth(def))
	o.failIf(v != 0 && v != 1, "attribute %s is %d, not 0 or 1", name, v)
	return v == 1
}

// intsAttr returns an attribute that is a list of integers; nil if it is absent.
func (o *op) intsAttr(name string) []int64 {
	a := o.attr(name, onnxpb.AttributeProto_INTS)
	if a != nil && a.Ints == nil {
		return []int64{}
	}
	return a.GetInts()
}

func (o *op) floatAttr(name string, def float64) float64 {
	if a := o.attr(name, onnxpb.AttributeProto_FLOAT); a != nil {
		def = float64(a.GetF())
		o.failIf(def-def != 0, "attribute %s is %v", name, def)
	}
	return def
}

func (o *op) strAttr(name, def string) string {
	if a := o.attr(name, onnxpb.AttributeProto_STRING); a != nil {
		return string(a.GetS())
	}
	return def
}

// choiceAttr returns the entry of a map for the word that an attribute has, or def if it
// is absent.
func choiceAttr[T any](o *op, name, def string, of map[string]T) T {
	return choice(o, name, o.strAttr(name, def), of)
}

// choice returns the entry of a map for word; name names the attribute in the error if
// there is none.
func choice[T any](o *op, name, word string, of map[string]T) T {
	what, known := of[word]
	o.failIf(!known, "%s %s is not known", name, graph.Quote(word))
	return what
}

// wordAttr returns an attribute that must be one of the known words. If it is absent, the
// first of these is returned.
func (o *op) wordAttr(name string, known ...string) string {
	word := o.strAttr(name, known[0])
	o.failIf(!slices.Contains(known, word), "%s %s is not known", name, graph.Quote(word))
	return word
}

// ignore removes attributes that do not matter for inference.
func (o *op) ignore(names ...string) {
	for _, n := range names {
		delete(o.attrs, n)
	}
}

// axis returns the index of axis a of a tensor with rank axes. A negative a counts from
// the end.
func (o *op) axis(a int64, rank int) int {
	if a < -int64(rank) || a >= int64(rank) {
		o.failf("axis %d of a tensor with %d axes", a, rank)
	}
	if a < 0 {
		a += int64(rank)
	}
	return int(a)
}

// axes resolves a list of axes, which must be distinct, as axis does, and sorts it.
func (o *op) axes(list []int64, rank int) []int {
	o.failIf(len(list) > rank, "%d axes named of a tensor with %d", len(list), rank)
	out := o.eachAxis(list, rank)
	slices.Sort(out)
	for i := 1; i < len(out); i++ {
		o.failIf(out[i] == out[i-1], "axis %d is named twice", out[i])
	}
	return out
}

// eachAxis resolves a list of axes as axis does, in the order of the list. It also serves
// for indices into an axis of length rank.
func (o *op) eachAxis(list []int64, rank int) []int {
	return each(list, func(a int64) int { return o.axis(a, rank) })
}

// wanted says whether something reads output i.
func (o *op) wanted(i int) bool {
	return i < len(o.proto.Output) && o.file.uses[o.proto.Output[i]] > 0
}

// result makes v output i of the node. If this node computed v, v takes the output's
// name.
func (o *op) result(i int, v graph.Value) {
	if standardDomain(o.proto.GetDomain()) {
		switch kind := o.proto.GetOpType(); {
		case arithmetic[kind]:
			v = o.InType(v)
		case kind == "Cast" || kind == "CastLike": // it has wrapped types of up to 16 bits itself
			o.Within(v)
		}
	}
	o.shape(v)
	o.failIf(i >= len(o.proto.Output), "has no output %d", i)
	if out := o.proto.Output[i]; out != "" {
		if !o.nested {
			o.Rename(v, out)
		}
		o.values[out], o.types[out] = v, o.statedResult()
	}
}
