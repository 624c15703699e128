package onnx

import (
	"math"
	"slices"
)

// broadcast returns the NumPy broadcast of two shapes, or false.
func broadcast(a, b []int) ([]int, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	off := len(a) - len(b)
	for i, d := range b {
		switch {
		case out[off+i] == d || d == 1:
		case out[off+i] == 1:
			out[off+i] = d
		default:
			return nil, false
		}
	}
	return out, true
}

// broadcastShape is broadcast, or ends the lowering.
func (o *op) broadcastShape(a, b string) []int {
	s, ok := broadcast(o.shapes[a], o.shapes[b])
	if !ok {
		o.failf("shapes %v and %v do not broadcast", o.shapes[a], o.shapes[b])
	}
	return s
}

// binary emits an operation on two values of one kind.
func (o *op) binary(kind, a, b string) string {
	if o.dtypes[a].IsFloat() != o.dtypes[b].IsFloat() {
		o.failf("its operands have types %v and %v", o.dtypes[a], o.dtypes[b])
	}
	return o.emit(kind, o.broadcastShape(a, b), o.dtypes[a], []string{a, b})
}

// arithmetic lowers an operator that is in the normal form already.
func arithmetic(kind string) func(*op) {
	return func(o *op) {
		o.arity(2, 2)
		o.result(0, o.binary(kind, o.in(0), o.in(1)))
	}
}

// lowerDiv multiplies by the reciprocal where the divisor is a constant.
func lowerDiv(o *op) {
	o.arity(2, 2)
	a, b := o.in(0), o.in(1)
	computed := !o.isConst(a) || !o.isConst(b)
	if computed && !o.dtypes[a].IsFloat() {
		o.failf("division of integers that depend on the model's input is not supported")
	}
	if computed && o.isConst(b) && o.dtypes[b].IsFloat() {
		inverse := o.emit("Reciprocal", o.shapes[b], Float, []string{b})
		o.result(0, o.binary("Mul", a, inverse))
		return
	}
	o.result(0, o.binary("Div", a, b))
}

// chain combines all inputs from left to right.
func (o *op) chain(combine func(a, b string) string) string {
	if len(o.proto.Input) == 0 {
		o.failf("has no inputs")
	}
	v := o.in(0)
	for i := 1; i < len(o.proto.Input); i++ {
		v = combine(v, o.in(i))
	}
	return v
}

func (o *op) add(a, b string) string { return o.binary("Add", a, b) }
func (o *op) sub(a, b string) string { return o.binary("Sub", a, b) }
func (o *op) mul(a, b string) string { return o.binary("Mul", a, b) }

func lowerSum(o *op) { o.result(0, o.chain(o.add)) }

func lowerMean(o *op) {
	sum := o.chain(o.add)
	if n := len(o.proto.Input); n > 1 {
		sum = o.mul(sum, o.scalar("count", 1/float64(n)))
	}
	o.result(0, sum)
}

// lowerMax is max(a, b) = b + relu(a − b), or a Clip where one of them is one
// constant number.
func lowerMax(o *op) {
	o.result(0, o.chain(func(a, b string) string {
		if o.isConst(a) && o.isConst(b) {
			return o.binary("Max", a, b)
		}
		if v, ok := o.clipBy(a, b, true); ok {
			return v
		}
		d := o.sub(a, b)
		return o.add(b, o.emit("Relu", o.shapes[d], o.dtypes[d], []string{d}))
	}))
}

// lowerMin is min(a, b) = a − relu(a − b), or a Clip.
func lowerMin(o *op) {
	o.result(0, o.chain(func(a, b string) string {
		if o.isConst(a) && o.isConst(b) {
			return o.binary("Min", a, b)
		}
		if v, ok := o.clipBy(a, b, false); ok {
			return v
		}
		d := o.sub(a, b)
		return o.sub(a, o.emit("Relu", o.shapes[d], o.dtypes[d], []string{d}))
	}))
}

// clipBy clips whichever of a and b is computed by the other, if that is a
// constant of one element.
func (o *op) clipBy(a, b string, below bool) (string, bool) {
	x, c := a, b
	if o.isConst(a) {
		x, c = b, a
	}
	t := o.consts[c]
	if t == nil || t.Len() != 1 {
		return "", false
	}
	lo, hi := math.Inf(-1), math.Inf(1)
	if below {
		lo = t.At(0)
	} else {
		hi = t.At(0)
	}
	shape := o.broadcastShape(a, b)
	return o.reshape(o.clip(x, lo, hi), shape), true
}

func (o *op) clip(x string, lo, hi float64) string {
	if math.IsInf(lo, -1) && math.IsInf(hi, 1) {
		return x
	}
	if lo == 0 && math.IsInf(hi, 1) {
		return o.emit("Relu", o.shapes[x], o.dtypes[x], []string{x})
	}
	return o.emit("Clip", o.shapes[x], o.dtypes[x], []string{x}, float("min", lo), float("max", hi))
}

// lowerClip reads its bounds from attributes, before operator set 11, or from
// constant inputs.
func lowerClip(o *op) {
	o.arity(1, 3)
	lo, hi := math.Inf(-1), math.Inf(1)
	if o.attrs["min"] != nil {
		lo = o.floatAttr("min", 0)
	}
	if o.attrs["max"] != nil {
		hi = o.floatAttr("max", 0)
	}
	if o.has(1) {
		lo = o.scalarInput(1, "min")
	}
	if o.has(2) {
		hi = o.scalarInput(2, "max")
	}
	o.result(0, o.clip(o.in(0), lo, hi))
}

// lowerPow handles constant exponents; small ones become products.
func lowerPow(o *op) {
	o.arity(2, 2)
	x, e := o.in(0), o.in(1)
	shape := o.broadcastShape(x, e)
	if o.isConst(x) && o.isConst(e) {
		o.result(0, o.emit("Power", shape, o.dtypes[x], []string{x, e}))
		return
	}
	t := o.consts[e]
	if t == nil {
		o.failf("its exponent %s depends on the model's input", quote(e))
	}
	for i := range t.Len() {
		if t.At(i) != t.At(0) {
			o.failf("its exponents differ from element to element")
		}
	}
	if size(shape) != size(o.shapes[x]) {
		o.failf("its exponent of shape %v widens the base of shape %v", t.Shape, o.shapes[x])
	}
	y := x
	switch exponent := t.At(0); {
	case exponent == 1:
	case exponent == 2:
		y = o.mul(x, x)
	case exponent == 3:
		y = o.mul(o.mul(x, x), x)
	case !o.dtypes[x].IsFloat():
		o.failf("power %v of integers that depend on the model's input", exponent)
	case exponent == 0.5:
		y = o.emit("Sqrt", o.shapes[x], Float, []string{x})
	case exponent == -1:
		y = o.emit("Reciprocal", o.shapes[x], Float, []string{x})
	default:
		y = o.emit("Pow", o.shapes[x], Float, []string{x}, float("exponent", exponent))
	}
	o.result(0, o.reshape(y, shape))
}

func lowerMod(o *op) {
	o.arity(2, 2)
	kind := "Mod"
	if o.flagAttr("fmod", false) {
		kind = "Fmod"
	}
	o.result(0, o.binary(kind, o.in(0), o.in(1)))
}

// comparison lowers an operator whose result is bool. None is in the normal
// form: the operands must be constant.
func comparison(kind string) func(*op) {
	return func(o *op) {
		o.arity(2, 2)
		a, b := o.in(0), o.in(1)
		if kind == "And" || kind == "Or" || kind == "Xor" {
			o.bools(a, b)
		}
		o.result(0, o.emit(kind, o.broadcastShape(a, b), Bool, []string{a, b}))
	}
}

// bools fails unless all values are bool.
func (o *op) bools(values ...string) {
	for _, v := range values {
		if o.dtypes[v] != Bool {
			o.failf("its operand %s has type %v", quote(v), o.dtypes[v])
		}
	}
}

func lowerNot(o *op) {
	o.arity(1, 1)
	o.bools(o.in(0))
	o.result(0, o.emit("Not", o.shapes[o.in(0)], Bool, []string{o.in(0)}))
}

// lowerWhere takes constant conditions.
func lowerWhere(o *op) {
	o.arity(3, 3)
	c, a, b := o.in(0), o.in(1), o.in(2)
	if !o.isConst(c) {
		o.failf("its condition %s depends on the model's input", quote(c))
	}
	if o.dtypes[c] != Bool {
		o.failf("its condition has type %v", o.dtypes[c])
	}
	if o.dtypes[a].IsFloat() != o.dtypes[b].IsFloat() {
		o.failf("its operands have types %v and %v", o.dtypes[a], o.dtypes[b])
	}
	shape, ok := broadcast(o.broadcastShape(a, b), o.shapes[c])
	if !ok {
		o.failf("condition of shape %v does not broadcast with %v and %v", o.shapes[c], o.shapes[a], o.shapes[b])
	}
	o.result(0, o.emit("Where", shape, o.dtypes[a], []string{c, a, b}))
}

func lowerPRelu(o *op) {
	o.arity(2, 2)
	x, slope := o.in(0), o.in(1)
	if s := o.broadcastShape(x, slope); !slices.Equal(s, o.shapes[x]) {
		o.failf("slope of shape %v does not broadcast to %v", o.shapes[slope], o.shapes[x])
	}
	o.result(0, o.emit("PRelu", o.shapes[x], o.dtypes[x], []string{x, slope}))
}

// param is a float attribute and its default.
type param struct {
	name string
	def  float64
}

// unary lowers a function of each element.
func unary(kind string, params ...param) func(*op) {
	return func(o *op) {
		o.arity(1, 1)
		x := o.in(0)
		var attrs []set
		for _, p := range params {
			attrs = append(attrs, float(p.name, o.floatAttr(p.name, p.def)))
		}
		o.result(0, o.emit(kind, o.shapes[x], o.dtypes[x], []string{x}, attrs...))
	}
}

// floatUnary is unary for functions that only make sense on floats.
func floatUnary(kind string, params ...param) func(*op) {
	lower := unary(kind, params...)
	return func(o *op) {
		if x := o.in(0); !o.dtypes[x].IsFloat() {
			o.failf("its input has type %v", o.dtypes[x])
		}
		lower(o)
	}
}

func lowerGelu(o *op) {
	o.arity(1, 1)
	x := o.in(0)
	a := o.strAttr("approximate", "none")
	if a != "none" && a != "tanh" {
		o.failf("approximate = %s is not known", quote(a))
	}
	o.result(0, o.emit("Gelu", o.shapes[x], Float, []string{x}, str("approximate", a)))
}

// lowerCast keeps a Trunc where floats become integers; between other types
// the numbers stay the same. Half precision counts as float.
func lowerCast(o *op) {
	o.arity(1, 1)
	x := o.in(0)
	from, to := o.dtypes[x], DType(o.intAttr("to", 0))
	o.ignore("saturate", "round_mode")
	if !to.known() {
		o.failf("cast to %v is not supported", to)
	}
	if t := o.consts[x]; t != nil {
		name := o.unique(nodeName(o.proto) + "/Cast")
		c, err := t.cast(to)
		if err != nil {
			o.failf("%v", err)
		}
		if o.foldBudget -= c.Len(); o.foldBudget < 0 {
			o.failf("the constant that it makes is too large")
		}
		o.constant(name, c)
		o.result(0, name)
		return
	}
	switch {
	case to.IsFloat() == from.IsFloat() && (to.IsFloat() || to == from):
		o.result(0, x)
	case to == Bool:
		o.failf("cast of %v to bool is supported on constants only", from)
	case to.IsFloat():
		o.result(0, o.retyped(x, Float))
	case from.IsFloat():
		o.result(0, o.emit("Trunc", o.shapes[x], to, []string{x}))
	default:
		lo, hi := intRange(from)
		if l, h := intRange(to); l > lo || h < hi {
			o.failf("cast of %v to %v may lose bits", from, to)
		}
		o.result(0, o.retyped(x, to))
	}
}

// retyped returns x as a value of another type that holds the same numbers.
func (o *op) retyped(x string, to DType) string {
	return o.emit("Reshape", o.shapes[x], to, []string{x})
}
