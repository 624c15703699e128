package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Builder makes a graph in normal form, one operation at a time. Each method takes values
// and returns the value of the result; it computes the result at once if all operands are
// constant, returns the operand if there is nothing to do, and expands operations that the
// normal form does not have.
//
// Building continues after an error. The builder records the error with the node that it is
// about (see [Builder.At]), and the method returns the zero Value. Methods that get a zero
// Value return it again. [Builder.Graph] returns all errors. So a caller needs to check
// [Builder.Valid] only before it uses a value's shape.
type Builder struct {
	name    string
	values  []*value
	inputs  []*value
	nodes   []*node
	outputs []output
	alike   [][]*value // the lists that Alike got

	taken map[string]struct{} // names in use or reserved
	next  map[string]int      // by base name, the last number that unique appended

	op, at string // operator and name of the current node, for errors
	first  int    // number of values made before the last At
	float  DType  // as set by Computes; 0 means float32
	failed bool   // whether there was an error since the last At
	errs   NodesError

	activations int // elements of inputs and computed values so far
	most        int // upper bound of activations
	largest     int // upper bound of the elements of one computed value
	outline     bool
	budget
	counted map[*Tensor]struct{} // the model's constants that have raised the budget
}

// Value is a value of one builder. The zero Value is that of a failed operation.
type Value struct{ v *value }

// value is what a Value stands for: an input, a constant or a node's result.
type value struct {
	name    string
	index   int // in Builder.values
	shape   []int
	dtype   DType
	symbols []string // of an input, as in Input.Symbols
	tensor  *Tensor  // of a constant, else nil
	// For values that may not be finite (see extended.go):
	numbers Numbers      // of an input
	parts   func() parts // makes the parts; nil if the value is finite
	pair    bool         // the value exists only as its parts
	partial bool         // the value has parts, and its node gives 0 where it is not finite
	whole   *Tensor      // of a constant: all its numbers, including NaN and infinities
	either  []*value     // of a truth value: it is 1 wherever one of these is 1
	within  *value       // of a truth value: it is 1 only where this one is 1
	all     *value       // of a truth value for each row of this one: it is 1 where the whole row is 1
	node    *node        // the node that computes the value; nil for inputs and constants
	named   bool         // the caller has given the name, so Rename keeps it
}

// node is a Node in the making.
type node struct {
	op   Op
	name string
	in   []*value
	out  *value

	within bool   // becomes Node.Within
	held   *value // of a sum that maskWith made: the condition, as a float
	over   *value // of a product in place of a quotient by a constant: the constant
}

// output is an output of the graph: its name and the value that has this name in the end.
type output struct {
	name  string
	value *value
}

// NewBuilder returns a builder for a graph of that name. The builder limits what a
// hostile model can ask for (see budget.go): folding may make at most a few times as many
// elements as the constants have, plus a fixed amount for shape arithmetic and masks, and
// the work of a run of the graph must be in proportion to the constants and inputs.
func NewBuilder(name string) *Builder {
	return &Builder{
		name: name, taken: map[string]struct{}{}, next: map[string]int{}, counted: map[*Tensor]struct{}{},
		most: MaxComputed, largest: MaxActivations, budget: budget{leastRoom, leastFold, leastWork},
	}
}

// Outline lifts the limits on the size of computed values. It is for a graph of which only
// the shapes are needed, such as the graph for the longest text of a key. RunFloat returns
// an error if the values are too large for a run.
func (b *Builder) Outline() { b.outline, b.most, b.largest = true, MaxElements, MaxElements }

// Computes says in which floating-point type the model's operators compute from here on. It
// matters for Trunc, Floor and Ceil, which jump: their argument is rounded to this type first.
// The default is float32.
func (b *Builder) Computes(dt DType) { b.float = dt }

// Reserve reserves names: the builder gives them only to values for which they are
// requested.
func (b *Builder) Reserve(names ...string) {
	for _, n := range names {
		b.taken[n] = struct{}{}
	}
}

// At says that the following operations belong to the operator op of the model's source,
// which is called name there. Errors name it; the builder records at most one error until
// the next At. Values and nodes are named after name. If op is empty, errors name the
// operator of this package that fails.
func (b *Builder) At(op, name string) {
	b.op, b.at, b.first, b.failed = op, name, len(b.values), false
}

// Failf records an error of the current node, unless it has one already, and returns the
// zero Value.
func (b *Builder) Failf(format string, args ...any) Value { return b.failf(b.op, format, args...) }

func (b *Builder) failf(op, format string, args ...any) Value {
	if !b.failed {
		b.failed = true
		b.errs = append(b.errs, NodeError{Op: op, Name: b.at, Reason: fmt.Sprintf(format, args...)})
	}
	return Value{}
}

// Failed says whether there is an error of the current node.
func (b *Builder) Failed() bool { return b.failed }

// Valid says whether v could be made.
func (b *Builder) Valid(v Value) bool { return v.v != nil }

// valid is Valid for all of several values.
func (b *Builder) valid(values ...Value) bool { return !slices.Contains(values, Value{}) }

// plain reports whether an operation on values needs no expansion: all of them are constant,
// or one of them could not be made.
func (b *Builder) plain(values ...Value) bool {
	return !b.valid(values...) || !slices.ContainsFunc(values, func(v Value) bool { return v.v.tensor == nil })
}

// of returns the value that v stands for. For the zero Value it returns unknown, whose
// fields are all zero.
func (v Value) of() *value {
	if v.v == nil {
		return &unknown
	}
	return v.v
}

var unknown value

// Shape returns the shape of v, which must not be changed; nil for the zero Value.
func (b *Builder) Shape(v Value) []int { return v.of().shape }

// DType returns the element type of v.
func (b *Builder) DType(v Value) DType { return v.of().dtype }

// Tensor returns the tensor of a constant, or nil if v depends on the inputs.
func (b *Builder) Tensor(v Value) *Tensor { return v.of().tensor }

// AllNumbers is Tensor, but the result includes the NaN and infinities of a constant that has
// some.
func (b *Builder) AllNumbers(v Value) *Tensor { return cmp.Or(v.of().whole, v.of().tensor) }

// Name returns the current name of v. Rename and Graph may still change it.
func (b *Builder) Name(v Value) string { return v.of().name }

// Depends returns a clause for a message: that v depends on the model's inputs, and on
// which. The user may fix these inputs if a constant is needed.
func (b *Builder) Depends(v Value) string {
	text := Quote(b.Name(v)) + " depends on the model's input"
	switch {
	case v.of().whole != nil:
		return Quote(b.Name(v)) + " has NaN or infinities"
	case v.of().node == nil:
		return text
	}
	reached := map[*value]bool{v.v: true}
	for _, n := range slices.Backward(b.nodes) { // nodes are in the order in which they were made
		if reached[n.out] {
			for _, in := range n.in {
				reached[in] = true
			}
		}
	}
	var names []string
	for _, in := range b.inputs {
		if reached[in] {
			names = append(names, Quote(in.name))
		}
	}
	if len(names) > 1 {
		text += "s"
	}
	return text + " " + strings.Join(names, ", ")
}

func (b *Builder) operandType(v Value) operandType {
	return operandType{shape: v.v.shape, dtype: v.v.dtype, value: v.v.tensor}
}

func (b *Builder) operandTypes(values ...Value) []operandType {
	return each(values, b.operandType)
}

// Rename gives v the name of a value of the model's source, and its node the name of the
// current node, if v was computed since At and has not been renamed. Other values keep their
// names. The name must be reserved, or not be taken.
func (b *Builder) Rename(v Value, name string) {
	if x := v.v; x != nil && x.node != nil && x.index >= b.first && !x.named {
		x.name, x.named = name, true
		x.node.name = b.at
		b.taken[name] = struct{}{}
	}
}

// Input adds an input of the given shape. symbols may name its open axes (see
// [Input.Symbols]). An input without elements acts as a constant.
func (b *Builder) Input(name string, dt DType, shape []int, symbols ...string) Value {
	err := checkInts(shape)
	switch {
	case err != nil:
	case !dt.Known():
		err = fmt.Errorf("%v is not supported", dt)
	case Size(shape) > min(MaxInput, b.most-b.activations):
		err = fmt.Errorf("shape %v is too large: an input may have %d elements", shape, MaxInput)
	case symbols != nil && len(symbols) != len(shape):
		err = fmt.Errorf("%d symbols for shape %v", len(symbols), shape)
	}
	if err != nil {
		b.At("", name)
		return b.failf("input", "%v", err)
	}
	b.activations += Size(shape)
	b.work = plus(b.work, times(Size(shape), workPer))
	v := b.add(&value{name: name, shape: shape, dtype: dt, symbols: symbols, named: true})
	b.taken[name] = struct{}{}
	b.inputs = append(b.inputs, v.v)
	if Size(shape) == 0 {
		return b.made(name, none(operandType{shape: shape, dtype: dt}))
	}
	return v
}

// Constant adds a constant of the model. The tensor must not be changed afterwards. The
// constant counts as a weight, and so does what is computed from it, unless the tensor is
// Public. A tensor whose only numbers that are not finite are −∞ can mask scores; NaN and
// +∞ are accepted only by operators that have a meaning for them. A constant with an empty
// name is named after the current node.
func (b *Builder) Constant(name string, t *Tensor) Value {
	if _, again := b.counted[t]; !again && t != nil {
		b.counted[t] = struct{}{}
		b.constants(t.Len())
	}
	return b.constant(name, t)
}

// Table adds a constant that is not the model's own, but part of the expansion of an
// operator. Call [Builder.Room] to count its elements before making them.
func (b *Builder) Table(t *Tensor) Value { return b.constant("", t) }

// constant adds a constant. A tensor with NaN or infinities is checked as if these were 0, and
// becomes an extended constant.
func (b *Builder) constant(name string, t *Tensor) Value {
	kind := b.op
	if kind == "" {
		kind = "constant"
	}
	finite := t
	if t != nil && FirstNonFinite(t.F32) >= 0 {
		finite = &Tensor{Shape: t.Shape, DType: t.DType, F32: make([]float32, len(t.F32))}
	}
	if err := refuse.Caught(finite.check); err != nil {
		return b.failf(kind, "%s: %v", Quote(name), err)
	}
	if name == "" {
		name = b.called("value")
	}
	b.taken[name] = struct{}{}
	if finite != t {
		v := b.extendedConstant(name, t)
		v.v.named = true
		return v
	}
	return b.add(&value{name: name, shape: t.Shape, dtype: t.DType, tensor: t, named: true})
}

// add appends v to the builder's values.
func (b *Builder) add(v *value) Value {
	v.index = len(b.values)
	b.values = append(b.values, v)
	return Value{v}
}

// unique returns base, or base with a number, as a name not yet taken.
func (b *Builder) unique(base string) string {
	name := base
	for {
		if _, ok := b.taken[name]; !ok {
			b.taken[name] = struct{}{}
			return name
		}
		b.next[base]++
		name = fmt.Sprintf("%s_%d", base, b.next[base]+1)
	}
}

// called returns a name for something that the current node makes.
func (b *Builder) called(what string) string {
	if b.at != "" {
		what = b.at + "/" + what
	}
	return b.unique(what)
}

// made adds a constant that the current node made.
func (b *Builder) made(what string, t *Tensor) Value {
	return b.add(&value{name: b.called(what), shape: t.Shape, dtype: t.DType, tensor: t})
}

// floats makes a float constant.
func (b *Builder) floats(what string, shape []int, v []float32) Value {
	return b.made(what, &Tensor{Shape: shape, DType: Float, F32: v})
}

// number makes a float constant of shape [].
func (b *Builder) number(what string, v float64) Value {
	return b.made(what, &Tensor{Shape: []int{}, DType: Float, F32: []float32{float32(v)}, Public: true})
}

// emit adds a node for op and returns its value. If all operands are constant, it
// computes the value at once and adds no node. Operands that may not be finite are
// handled by their parts (extended.go).
func (b *Builder) emit(op Op, operands ...Value) (made Value) {
	if !b.valid(operands...) {
		return Value{}
	}
	kind := b.op
	if kind == "" {
		kind = Kind(op)
	}
	if b.pairs(operands...) {
		return b.emitPair(kind, op, operands)
	}
	if b.extends(operands...) {
		if f := b.partsOf(op, operands); f != nil {
			defer func() {
				if made = b.masking(made, f); b.extends(made) {
					made.v.partial = b.partial(operands...)
				}
			}()
		}
	}
	in := b.operandTypes(operands...)
	from := make([]*value, len(operands))
	var computed *value // the first one
	for i, v := range operands {
		from[i] = v.v
		if v.v.tensor == nil && computed == nil {
			computed = v.v
		}
	}
	t, err := infer(op, in)
	if err != nil {
		return b.failf(kind, "%v", err)
	}
	t.dtype = t.dtype.computed()
	if computed == nil {
		return b.fold(kind, op, in, t)
	}
	if foldOnly(op) {
		return b.failf(kind, "%s is supported on constants only, and %s", Kind(op), b.Depends(Value{computed}))
	}
	if Size(t.shape) == 0 { // no elements, so nothing to compute
		return b.made(Kind(op), none(t))
	}
	for _, v := range from {
		if Size(v.shape) == 0 {
			return b.failf(kind, "%s is empty", Quote(v.name))
		}
	}
	if !b.affords(kind, op, in, t.shape) {
		return Value{}
	}
	return b.add(b.computedBy(op, b.called(Kind(op)), t.shape, t.dtype, from...))
}

// affords charges a computed value of a shape, and the operator that computes it, to the
// limits. It records an error and returns false if a limit does not allow them.
func (b *Builder) affords(kind string, op Op, in []operandType, shape []int) bool {
	n := work(op, in, shape)
	switch {
	case Size(shape) > min(b.largest, b.most-b.activations):
		b.failf(kind, "its output of shape %v is too large: a computed value may have %d elements, and all together %d", shape, b.largest, b.most)
	case !b.outline && !take(&b.work, n):
		b.failf(kind, "it takes %d operations on numbers: those of a run are more than a model with constants and inputs of this size may ask for", n)
	case len(b.nodes) == mostNodes:
		b.failf(kind, "the model is written out as more than %d operators here", mostNodes)
	default:
		b.activations += Size(shape)
		return true
	}
	return false
}

// computedBy adds a node called name and returns its result, a value of the same name.
func (b *Builder) computedBy(op Op, name string, shape []int, dt DType, in ...*value) *value {
	out := &value{name: name, shape: shape, dtype: dt}
	out.node = &node{op: op, name: name, in: in, out: out}
	b.nodes = append(b.nodes, out.node)
	return out
}

// none returns a constant of the type and shape of t, which has no elements.
func none(t operandType) *Tensor {
	if t.dtype.IsFloat() {
		return &Tensor{Shape: t.shape, DType: t.dtype, F32: []float32{}}
	}
	return &Tensor{Shape: t.shape, DType: t.dtype, I64: []int64{}}
}

// folded computes a node whose operands are constant, if the budget allows it. Otherwise
// it records an error and returns false.
func (b *Builder) folded(kind string, op Op, in []operandType, shape []int) (out operand, ok bool) {
	if !b.spend(Size(shape)) {
		b.failf(kind, "the constant of shape %v that it makes is too large", shape)
		return out, false
	}
	if Size(shape) == 0 { // the other dimensions may be huge, so eval is not called
		return operand{shape: shape, f: []float64{}}, true
	}
	operands := make([]operand, len(in))
	for i, v := range in {
		if t := v.value; t.Exact != nil {
			operands[i] = operand{shape: t.Shape, f: t.Exact}
		} else { // integers stay integers
			operands[i] = operand{shape: t.Shape, w: t.Floats(), i: t.I64}
		}
	}
	out, err := evaluate(op, operands, shape)
	if err != nil {
		b.failf(kind, "%v", err)
	}
	return out, err == nil
}

// fold computes a node whose operands are constant, and makes a constant of the result.
// The result is Public if all operands are; it keeps Exact numbers if an operand has
// them.
func (b *Builder) fold(kind string, op Op, in []operandType, t operandType) Value {
	if n := work(op, in, t.shape); !take(&b.budget.fold, n) {
		return b.failf(kind, "it computes a constant with %d operations on numbers: that is more than a model with constants of this size may ask for", n)
	}
	out, ok := b.folded(kind, op, in, t.shape)
	if !ok {
		return Value{}
	}
	public, exact := true, false
	for _, v := range in {
		public, exact = public && v.value.Public, exact || v.value.Exact != nil
	}
	made := b.computed(Kind(op), out, t.dtype)
	if b.Tensor(made) != nil {
		made.v.tensor.Public = public
		if exact && t.dtype.IsFloat() && out.f != nil {
			made.v.tensor.Exact = out.f
		}
	}
	return made
}

// Number makes a float constant of shape [].
func (b *Builder) Number(v float64) Value {
	if f := float32(v); f-f != 0 {
		return b.Failf("the constant %v", v)
	}
	return b.number("value", v)
}

// Integers makes a constant of type int64, of shape [] or [len(v)].
func (b *Builder) Integers(shape []int, v []int64) (out Value) {
	defer b.refused(&out)
	t := &Tensor{Shape: shape, DType: Int64, I64: v, Public: true}
	t.check()
	return b.made("value", t)
}

// Fill makes a constant of a shape; every element is the single element of value.
func (b *Builder) Fill(shape []int, value *Tensor) (out Value) {
	defer b.refused(&out)
	if value.Len() != 1 {
		return b.Failf("its value has %d elements", value.Len())
	}
	must.OK(checkInts(shape))
	n := Size(shape)
	refuse.If(!b.spend(n), "the constant of shape %v that it makes is too large", shape)
	t := &Tensor{Shape: shape, DType: value.DType, Public: value.Public}
	if value.I64 != nil {
		t.I64 = slices.Repeat(value.I64, n)
	} else {
		t.F32 = slices.Repeat([]float32{float32(value.At(0))}, n)
	}
	if FirstNonFinite(t.F32) >= 0 {
		return b.extendedConstant(b.called("value"), t)
	}
	return b.made("value", t)
}

// Range makes the constant start, start + delta, start + 2·delta, …, which ends before
// limit.
func (b *Builder) Range(start, limit, delta float64, dt DType) Value {
	count := math.Ceil((limit - start) / delta)
	if delta == 0 || count-count != 0 || count > float64(b.room) {
		return b.Failf("a range from %v to %v by %v", start, limit, delta)
	}
	n := int(max(count, 0))
	b.spend(n)
	values := filled(n, func(i int) float64 { return start + float64(float64(i)*delta) })
	t := operand{shape: []int{n}, f: values}.tensor(dt.computed())
	t.Public = true
	return b.made("value", t)
}
