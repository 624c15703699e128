package graph

import (
	"math"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/internal/refuse"
)

// A graph's arithmetic has only finite numbers. A value that may have others is represented
// by its parts: a finite value, and truth values that say where the number is NaN, +∞ or −∞
// instead. Operators that have a meaning for such numbers are expanded into operations on
// the parts. Other operators refuse them.
//
// There are three kinds of such values. A pair has only parts. A masking value is also a
// node or a constant in which −10^30 stands for −∞; [Builder.Graph] recognises it as the
// mask of a Softmax. A partial value is the result of a function that is not defined
// everywhere. It is also a node that is 0 where the value is not finite; operators that
// have no meaning for NaN and infinities read this node. The parts of a masking or partial
// value are made only if another operator reads them, or if a mask is not recognised, so
// that they do not change other graphs.

// Numbers says what numbers an input may have.
type Numbers uint8

const (
	// FiniteNumbers are all numbers that are finite.
	FiniteNumbers Numbers = iota
	// AllNumbers are finite numbers, NaN and both infinities.
	AllNumbers
	// MaskingNumbers are finite ones and −∞, with which models mask scores.
	MaskingNumbers
)

// NumbersOf returns the smallest kind of Numbers that includes all values.
func NumbersOf(values []float64) Numbers {
	n := FiniteNumbers
	for _, x := range values {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 1):
			return AllNumbers
		case math.IsInf(x, -1):
			n = MaskingNumbers
		}
	}
	return n
}

// Union returns the smallest kind that includes n and o.
func (n Numbers) Union(o Numbers) Numbers {
	if n == AllNumbers || o == FiniteNumbers {
		return n
	}
	return o
}

// parts are the parts of a value: the finite number fin, and truth values that say where
// the value is NaN, +∞ or −∞ instead. A truth value that is the zero Value is 0
// everywhere. At each place at most one truth value is 1; where one is, fin may be any
// number.
type parts struct{ fin, nan, pos, neg Value }

// class is one of the three classes of numbers that are not finite.
type class uint8

const (
	isNaN class = iota
	isPosInf
	isNegInf
)

var classNames = [...]string{"IsNaN", "IsPosInf", "IsNegInf"}

// of reports whether x is in class c.
func (c class) of(x float64) bool {
	switch c {
	case isNaN:
		return math.IsNaN(x)
	case isPosInf:
		return math.IsInf(x, 1)
	}
	return math.IsInf(x, -1)
}

// Finite is an extended input with 0 in place of numbers that are not finite. If Reach is
// set, the readers of the result do not distinguish numbers above Reach from each other,
// nor those below −Reach, so that a circuit may replace each of them by another one beyond
// Reach.
type Finite struct{ Reach float64 }

func (Finite) takes() operands { return operands{1, 1, floats} }

func (f Finite) infer(in []operandType) operandType {
	refuse.If(!(f.Reach >= 0), "a reach of %v", f.Reach)
	return in[0]
}

func (Finite) eval(in []operand, shape []int) operand {
	return operand{shape: shape, f: apply(in[0].float64s(), func(x float64) float64 {
		if x-x != 0 {
			return 0
		}
		return x
	})}
}

// Class is 1 where an extended input is in one class of numbers that are not finite, and
// 0 elsewhere. It is one of [ClassNaN], [ClassPosInf] and [ClassNegInf].
type Class struct{ class class }

// The classes of numbers that are not finite.
var (
	ClassNaN    = Class{isNaN}
	ClassPosInf = Class{isPosInf}
	ClassNegInf = Class{isNegInf}
)

func (c Class) kind() string { return classNames[c.class] }

func (Class) takes() operands { return operands{1, 1, floats} }

func (c Class) infer(in []operandType) operandType {
	return operandType{shape: in[0].shape, dtype: Bool}
}

func (c Class) eval(in []operand, shape []int) operand {
	f := apply(in[0].float64s(), func(x float64) float64 { return indicator(c.class.of(x)) })
	return operand{shape: shape, f: f}
}

// Extend is an output of the graph that may have NaN and infinities. Its first operand is
// finite. For each of Classes an operand of truth values follows, which says where NaN,
// +∞ or −∞ replaces the finite number. All have one shape. At each place at most one
// truth value is 1, and the first operand is 0 there. All operands may be constants.
type Extend struct{ Classes []Class }

func (Extend) takes() operands { return operands{2, 4, nil} }

func (e Extend) infer(in []operandType) operandType {
	refuse.If(len(in) != 1+len(e.Classes), "%d operands for %d classes", len(in), len(e.Classes))
	floats(in[0])
	bools(in[1:]...)
	for _, t := range in[1:] {
		refuse.If(!slices.Equal(t.shape, in[0].shape), "its operands have shapes %v and %v", in[0].shape, t.shape)
	}
	return in[0]
}

func (e Extend) eval(in []operand, shape []int) operand {
	out := slices.Clone(in[0].float64s())
	for k, c := range e.Classes {
		for i, is := range in[1+k].float64s() {
			if is != 0 {
				out[i] = [...]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[c.class]
			}
		}
	}
	return operand{shape: shape, f: out}
}

// Extended says whether a value of the graph may have NaN or infinities. Only inputs and
// outputs of the graph may.
func (g *Graph) Extended(name string) bool {
	if i := slices.IndexFunc(g.Inputs, func(in Input) bool { return in.Name == name }); i >= 0 {
		return g.Inputs[i].Numbers != FiniteNumbers
	}
	return slices.Contains(g.Outputs, name) && slices.ContainsFunc(g.Nodes, func(n *Node) bool {
		_, ok := n.Op.(Extend)
		return ok && n.Output == name
	})
}

// ExtendedInput is [Builder.Input] for an input of floats that may have the given
// numbers.
func (b *Builder) ExtendedInput(name string, dt DType, numbers Numbers, shape []int, symbols ...string) Value {
	if !dt.IsFloat() || Size(shape) == 0 || numbers == FiniteNumbers {
		return b.Input(name, dt, shape, symbols...)
	}
	raw := b.Input(name, dt, shape, symbols...)
	if !b.valid(raw) {
		return raw
	}
	raw.v.numbers = numbers
	p := parts{fin: b.emit(Finite{}, raw), neg: b.emit(ClassNegInf, raw)}
	if numbers == AllNumbers {
		p.nan, p.pos = b.emit(ClassNaN, raw), b.emit(ClassPosInf, raw)
	}
	v := b.pair(dt, p)
	v.v.name = name
	return v
}

// pair makes a value that has only parts. If p shows that all numbers are finite, it
// returns the finite part.
func (b *Builder) pair(dt DType, p parts) Value {
	for _, v := range []*Value{&p.nan, &p.pos, &p.neg} {
		if !b.sometimes(*v) {
			*v = Value{}
		}
	}
	if !b.valid(p.fin) || !b.valid(p.special(b)) {
		return p.fin
	}
	return b.add(&value{name: b.called("value"), shape: b.Shape(p.fin), dtype: dt, pair: true, parts: func() parts { return p }})
}

// extendedConstant makes a constant of a tensor that has NaN or infinities. If −∞ is the
// only kind of them, the constant is a masking value, else a pair.
func (b *Builder) extendedConstant(name string, t *Tensor) Value {
	v := b.add(&value{name: name, shape: t.Shape, dtype: t.DType, whole: t})
	if bounded := t.bounded(); FirstNonFinite(bounded.F32) < 0 {
		v.v.tensor = bounded
	} else {
		v.v.pair = true
	}
	v.v.parts = sync.OnceValue(func() parts {
		fin := make([]float32, len(t.F32))
		for i, x := range t.F32 {
			if x-x == 0 {
				fin[i] = x
			}
		}
		p := parts{fin: b.made("finite", &Tensor{Shape: t.Shape, DType: Float, F32: fin, Public: t.Public})}
		for c, to := range []*Value{&p.nan, &p.pos, &p.neg} {
			is, some := make([]int64, len(t.F32)), false
			for i, x := range t.F32 {
				if class(c).of(float64(x)) {
					is[i], some = 1, true
				}
			}
			if some {
				*to = b.made(classNames[c], &Tensor{Shape: t.Shape, DType: Bool, I64: is})
			}
		}
		return p
	})
	return v
}

// extends reports whether one of the values may have numbers that are not finite.
func (b *Builder) extends(values ...Value) bool {
	return slices.ContainsFunc(values, func(v Value) bool { return v.of().parts != nil })
}

// NotFinite reports whether v may have NaN or infinities, and no node gives 0 in place of
// them.
func (b *Builder) NotFinite(v Value) bool { return b.extends(v) && !b.partial(v) }

// partial reports whether at least one of the values may have NaN or infinities, and all
// that may are partial.
func (b *Builder) partial(values ...Value) bool {
	return b.extends(values...) && !slices.ContainsFunc(values, func(v Value) bool { return v.of().parts != nil && !v.v.partial })
}

// pairs reports whether at least one of the values has only parts.
func (b *Builder) pairs(values ...Value) bool {
	return slices.ContainsFunc(values, func(v Value) bool { return v.of().pair })
}

// parts returns the parts of a value.
func (b *Builder) parts(v Value) parts {
	if v.of().parts == nil {
		return parts{fin: v}
	}
	return v.v.parts()
}

// masking records f, which makes the parts of a value in which −10^30 stands for −∞. It
// keeps parts that v has already.
func (b *Builder) masking(v Value, f func() parts) Value {
	if v.v != nil && v.v.parts == nil {
		v.v.parts = sync.OnceValue(f)
	}
	return v
}

// follow records f, which makes the parts of v from those of the values from. v is
// partial if they are.
func (b *Builder) follow(v Value, f func() parts, from ...Value) Value {
	if v.v == nil || v.v.tensor != nil || slices.Contains(from, v) {
		return v
	}
	v.v.parts, v.v.partial = sync.OnceValue(f), b.partial(from...)
	return v
}

// undefined makes v a partial value: v is 0 where it is not defined, and nan and pos
// return truth values that say where it is NaN or +∞ there. Either function may be nil.
func (b *Builder) undefined(v Value, nan, pos func() Value) Value {
	if v.v == nil || v.v.tensor != nil || nan == nil && pos == nil {
		return v
	}
	v.v.partial = true
	return b.masking(v, func() parts {
		shape := b.Shape(v)
		p := parts{fin: b.emit(Reshape{shape}, v)} // a copy of v without parts
		if b.valid(p.fin) {
			p.fin.v.parts, p.fin.v.partial = nil, false
		}
		if nan != nil {
			p.nan = nan()
		}
		if pos != nil {
			p.pos = pos()
		}
		return b.apart(p, shape)
	})
}

// emitPair is emit for operands of which at least one has only parts.
func (b *Builder) emitPair(kind string, op Op, operands []Value) Value {
	constant := true
	for _, v := range operands {
		constant = constant && (v.v.tensor != nil || v.v.whole != nil)
	}
	f := b.partsOf(op, operands)
	switch {
	case constant:
		return b.foldExtended(kind, op, operands)
	case f == nil:
		at := slices.IndexFunc(operands, func(v Value) bool { return v.v.pair })
		if name := operands[at].v.name; slices.ContainsFunc(b.inputs, func(in *value) bool { return in.name == name }) {
			return b.failf(kind, "input %s is given NaN or infinite numbers, and %s of such numbers is not supported: replace them as the model was trained to expect",
				Quote(name), Kind(op))
		}
		return b.failf(kind, "%s may be NaN or infinite here, and %s of such numbers is not supported", Quote(b.Name(operands[at])), Kind(op))
	}
	t, err := infer(op, b.operandTypes(operands...))
	if err != nil {
		return b.failf(kind, "%v", err)
	}
	return b.pair(t.dtype.computed(), f())
}

// foldExtended computes a node whose operands are constants, some of which have NaN or
// infinities.
func (b *Builder) foldExtended(kind string, op Op, operands []Value) Value {
	in := b.operandTypes(operands...)
	for i, v := range operands {
		in[i].value = b.AllNumbers(v)
	}
	t, err := infer(op, in)
	if err != nil {
		return b.failf(kind, "%v", err)
	}
	out, ok := b.folded(kind, op, in, t.shape)
	if !ok {
		return Value{}
	}
	return b.computed(Kind(op), out, t.dtype.computed())
}

// computed makes a constant from the result of folding.
func (b *Builder) computed(what string, out operand, dt DType) Value {
	t := out.tensor(dt)
	if FirstNonFinite(t.F32) >= 0 {
		return b.extendedConstant(b.called(what), t)
	}
	return b.made(what, t)
}

// partsOf returns a function that computes the parts of an operator's result from those of
// its operands; nil if the operator has no meaning for them.
func (b *Builder) partsOf(op Op, operands []Value) func() parts {
	switch op := op.(type) {
	case Concat:
		return func() parts { return b.concatParts(op.Axis, operands) }
	case Arithmetic:
		switch op {
		case Add, Sub:
			return func() parts { return b.addParts(op, operands[0], operands[1]) }
		}
	case Reduce:
		if op.Func == MaxOf || op.Func == MinOf {
			return func() parts { return b.reduceParts(op, operands[0]) }
		}
	case Scalar:
		switch op.Func {
		case Neg:
			return func() parts {
				p := b.parts(operands[0])
				return parts{b.Negative(p.fin), p.nan, p.neg, p.pos}
			}
		case Abs:
			return func() parts {
				p := b.parts(operands[0])
				return parts{b.Apply(Abs, p.fin), p.nan, b.or(p.pos, p.neg), Value{}}
			}
		}
	}
	if moves(op) {
		return func() parts {
			p := b.parts(operands[0])
			return parts{b.emit(op, p.fin), b.emit(op, p.nan), b.emit(op, p.pos), b.emit(op, p.neg)}
		}
	}
	return nil
}

// reduceParts is the greatest or the least element along axes. It is NaN where one of the
// elements is.
func (b *Builder) reduceParts(op Reduce, x Value) parts {
	p := b.parts(x)
	if op.Func == MinOf {
		p.pos, p.neg = p.neg, p.pos
	}
	out := parts{nan: b.ReduceMax(p.nan, op.Axes, op.Keep), pos: b.ReduceMax(p.pos, op.Axes, op.Keep)}
	if b.valid(p.neg) { // an element of −∞ (+∞ for MinOf) gets a finite part that cannot win
		out.neg = b.ReduceMin(p.neg, op.Axes, op.Keep)
		if last := len(b.Shape(x)) - 1; op.Keep && op.Func == MaxOf && slices.Equal(op.Axes, []int{last}) && b.valid(out.neg) {
			out.neg.v.all = unrepeated(p.neg.v)
		}
		if op.Func == MinOf {
			p.fin = b.Where(p.neg, b.ReduceMax(p.fin, op.Axes, true), p.fin)
		} else {
			p.fin = b.Where(p.neg, b.ReduceMin(p.fin, op.Axes, true), p.fin)
		}
	}
	if out.fin = b.Reduce(op.Func, p.fin, op.Axes, op.Keep); op.Func == MinOf {
		out.fin = b.ReduceMin(p.fin, op.Axes, op.Keep)
		out.pos, out.neg = out.neg, out.pos
	}
	return b.apart(out, op.shape(b.Shape(x)))
}

// never returns a constant of truth values that are all 0.
func (b *Builder) never(shape []int) Value {
	return b.Fill(shape, &Tensor{Shape: []int{}, DType: Bool, I64: []int64{0}})
}

// concatParts joins the parts of values along an axis.
func (b *Builder) concatParts(axis int, operands []Value) parts {
	all := each(operands, b.parts)
	join := func(of func(p parts) Value) Value {
		var values []Value
		some := false
		for i, p := range all {
			v := of(p)
			if some = some || b.valid(v); !b.valid(v) {
				v = b.never(b.Shape(operands[i]))
			}
			values = append(values, v)
		}
		if !some {
			return Value{}
		}
		return b.Concat(axis, values...)
	}
	return parts{
		join(func(p parts) Value { return p.fin }), join(func(p parts) Value { return p.nan }),
		join(func(p parts) Value { return p.pos }), join(func(p parts) Value { return p.neg }),
	}
}

// addParts is x + y or x − y. It is NaN where x or y is, and where +∞ and −∞ are added.
func (b *Builder) addParts(op Arithmetic, x, y Value) parts {
	shape := b.common(x, y)
	p, q := b.parts(x), b.parts(y)
	if op == Sub {
		q.pos, q.neg = q.neg, q.pos
	}
	out := parts{fin: b.emit(op, p.fin, q.fin), pos: b.or(p.pos, q.pos), neg: b.or(p.neg, q.neg)}
	out.nan = b.or(b.or(p.nan, q.nan), b.both(out.pos, out.neg))
	return b.apart(out, shape)
}

// apart expands the parts to a shape, and makes +∞ and −∞ 0 where NaN is 1.
func (b *Builder) apart(p parts, shape []int) parts {
	p.pos, p.neg = b.butNot(p.pos, p.nan), b.butNot(p.neg, p.nan)
	return parts{b.Expand(p.fin, shape), b.Expand(p.nan, shape), b.Expand(p.pos, shape), b.Expand(p.neg, shape)}
}

// or is 1 where x or y is 1. The zero Value stands for 0 everywhere.
func (b *Builder) or(x, y Value) Value {
	switch {
	case !b.valid(x):
		return y
	case !b.valid(y):
		return x
	case b.always(x):
		return b.Expand(x, b.common(x, y))
	case b.always(y):
		return b.Expand(y, b.common(x, y))
	}
	return b.Compare(Or, x, y)
}

// always says whether truth values are a constant that is 1 everywhere.
func (b *Builder) always(x Value) bool {
	t := b.Tensor(x)
	return t != nil && !slices.Contains(t.I64, 0)
}

// sometimes says whether truth values may be 1 somewhere: unless they are a constant of
// zeros.
func (b *Builder) sometimes(x Value) bool {
	t := b.Tensor(x)
	return t == nil || !isZero(t)
}

// both is 1 where x and y are both 1. The zero Value stands for 0 everywhere.
func (b *Builder) both(x, y Value) Value {
	switch {
	case !b.valid(x, y):
		return Value{}
	case b.always(x):
		return b.Expand(y, b.common(x, y))
	case b.always(y):
		return b.Expand(x, b.common(x, y))
	}
	z := b.Compare(And, x, y)
	if b.valid(z) && slices.Equal(b.Shape(x), b.Shape(z)) {
		z.v.within = x.v
	}
	return z
}

// butNot is 1 where x is 1 and y is 0. The zero Value stands for 0 everywhere.
func (b *Builder) butNot(x, y Value) Value {
	switch {
	case !b.valid(x, y):
		return x
	case implied(x.v, y.v) || b.always(y):
		return Value{}
	}
	return b.both(x, b.Not(y))
}

// implied reports whether y is known to be 1 wherever x is: because y is x, is an Or that
// contains x, or is implied by a value that contains x.
func implied(x, y *value) bool {
	return x == y || x.within != nil && implied(x.within, y) || slices.ContainsFunc(y.either, func(z *value) bool { return implied(x, z) })
}

// special is 1 where the value is not finite. The zero Value stands for 0 everywhere.
func (p parts) special(b *Builder) Value { return b.or(b.or(p.nan, p.pos), p.neg) }

// IsNaN says where x is NaN.
func (b *Builder) IsNaN(x Value) Value {
	if !b.valid(x) {
		return x
	}
	return b.where(b.parts(x).nan, b.Shape(x))
}

// IsInf says where x is +∞, or −∞, or either.
func (b *Builder) IsInf(x Value, positive, negative bool) Value {
	if !b.valid(x) {
		return x
	}
	p := b.parts(x)
	if !positive {
		p.pos = Value{}
	}
	if !negative {
		p.neg = Value{}
	}
	return b.where(b.or(p.pos, p.neg), b.Shape(x))
}

// where expands truth values to a shape. The zero Value becomes zeros.
func (b *Builder) where(v Value, shape []int) Value {
	if !b.valid(v) {
		return b.never(slices.Clone(shape))
	}
	return b.Expand(v, shape)
}

// compareParts compares values of which some may not be finite. Nothing is greater or less
// than NaN, or equal to it.
func (b *Builder) compareParts(c Comparison, x, y Value) Value {
	if c == Less || c == LessOrEqual {
		x, y, c = y, x, c+(Greater-Less)
	}
	shape := b.common(x, y)
	p, q := b.parts(x), b.parts(y)
	if b.Failed() {
		return Value{}
	}
	var beyond, alike Value // where x is greater than y, or equal to it, and at least one is infinite
	if c != Equal {
		beyond = b.or(b.butNot(b.where(p.pos, shape), q.pos), b.butNot(b.where(q.neg, shape), p.neg))
	}
	if c != Greater {
		alike = b.or(b.both(p.pos, q.pos), b.both(p.neg, q.neg))
	}
	special, finite := b.or(b.where(p.special(b), shape), b.where(q.special(b), shape)), Value{}
	if !b.always(special) {
		finite = b.butNot(b.Compare(c, p.fin, q.fin), special)
	}
	out := b.butNot(b.or(b.or(finite, beyond), alike), b.or(p.nan, q.nan))
	return b.where(out, shape)
}

// whereParts is the parts of: x where cond is 1, and y where it is 0.
func (b *Builder) whereParts(cond, x, y Value) parts {
	shape, ok := Broadcast(b.common(x, y), b.Shape(cond))
	if !ok {
		return parts{fin: b.Failf("condition of shape %v does not broadcast with %v", b.Shape(cond), b.common(x, y))}
	}
	p, q := b.parts(x), b.parts(y)
	choose := func(x, y Value) Value { return b.or(b.both(cond, x), b.butNot(y, cond)) }
	fin := p.fin
	if u, v := b.Tensor(p.fin), b.Tensor(q.fin); u == nil || v == nil || !isZero(u) || !isZero(v) {
		fin = b.Where(cond, p.fin, q.fin)
	}
	return b.apart(parts{fin, choose(p.nan, q.nan), choose(p.pos, q.pos), choose(p.neg, q.neg)}, shape)
}

// greatestParts is the greater of x and y, or the lesser if least is set. It is NaN where
// one of them is.
func (b *Builder) greatestParts(x, y Value, least bool) parts {
	shape := b.common(x, y)
	p, q := b.parts(x), b.parts(y)
	if least {
		p.pos, p.neg, q.pos, q.neg = p.neg, p.pos, q.neg, q.pos
	}
	// Where one of them is −∞ (for the least, +∞) the result is the other.
	instead := func(below, of, by Value) Value {
		if !b.valid(below) {
			return of
		}
		return b.Where(below, by, of)
	}
	u, v := instead(p.neg, p.fin, q.fin), instead(q.neg, q.fin, p.fin)
	out := parts{nan: b.or(p.nan, q.nan), pos: b.or(p.pos, q.pos), neg: b.both(p.neg, q.neg)}
	if out.fin = b.Max(u, v); least {
		out.fin = b.Min(u, v)
		out.pos, out.neg = out.neg, out.pos
	}
	return b.apart(out, shape)
}

// extendedOutput returns the Extend for a value that is an output of the graph.
func (b *Builder) extendedOutput(v Value) Value {
	p := b.parts(v)
	special := p.special(b)
	if !b.valid(special) {
		return p.fin
	}
	shape := b.Shape(v)
	fin := b.Expand(b.Where(special, b.number("zero", 0), p.fin), shape)
	if !b.valid(fin) {
		return fin
	}
	op, in := Extend{}, []*value{fin.v}
	for _, c := range []struct {
		class Class
		is    Value
	}{{ClassNaN, p.nan}, {ClassPosInf, p.pos}, {ClassNegInf, p.neg}} {
		if b.valid(c.is) {
			op.Classes, in = append(op.Classes, c.class), append(in, b.Expand(c.is, shape).v)
		}
	}
	return b.add(b.computedBy(op, b.called(Kind(op)), shape, Float, in...))
}

// modParts is Mod with the sign of the divisor. x mod ±∞ is x if x is 0 or has the sign
// of the divisor, and the infinity otherwise. The result is NaN for an infinite x and for
// a divisor of 0.
func (b *Builder) modParts(x, y Value) parts {
	shape := b.common(x, y)
	p, q := b.parts(x), b.parts(y)
	zero := b.number("zero", 0)
	infinite := b.or(q.pos, q.neg)
	none := b.butNot(b.Compare(Equal, q.fin, zero), b.or(infinite, q.nan))
	out := parts{
		nan: b.or(b.or(p.special(b), q.nan), none),
		pos: b.both(q.pos, b.Compare(Less, p.fin, zero)), neg: b.both(q.neg, b.Compare(Greater, p.fin, zero)),
	}
	by := b.Where(b.or(none, b.or(infinite, q.nan)), b.number("one", 1), q.fin)
	out.fin = b.Mod(p.fin, by, false)
	if b.valid(infinite) {
		out.fin = b.Where(infinite, p.fin, out.fin)
	}
	return b.apart(out, shape)
}

// unrepeated returns the value that v repeats along leading axes by Expand and Reshape; v
// if there is none.
func unrepeated(v *value) *value {
	for v.node != nil {
		in := v.node.in[0]
		switch v.node.op.(type) {
		case Expand:
		case Reshape:
			if !slices.Equal(trimmed(in.shape), trimmed(v.shape)) {
				return v
			}
		default:
			return v
		}
		v = in
	}
	return v
}

// trimmed is a shape without leading axes of dimension 1.
func trimmed(shape []int) []int {
	for len(shape) > 0 && shape[0] == 1 {
		shape = shape[1:]
	}
	return shape
}

// guards reports whether x is the weights of a Softmax and cond is 1 only in rows that
// are masked altogether, so that all weights are 0 there.
func guards(cond, x *value) bool {
	if cond.all == nil || x.node == nil || x.node.op != (Softmax{Empty: true}) || len(x.node.in) != 2 {
		return false
	}
	not := operation(x.node.in[1], Sub)
	return not != nil && isOne(not.in[0].tensor) && unrepeated(not.in[1]) == cond.all
}

// exceedsParts computes splits for rows of x that may not be finite. +∞ is above every
// threshold; −∞ and NaN are above none.
func (b *Builder) exceedsParts(x Value, splits []Split) Value {
	p := b.parts(x)
	features := each(splits, func(s Split) int { return s.Feature })
	of := func(v Value) Value { return b.Gather(v, 1, features) }
	return b.or(b.butNot(b.Exceeds(p.fin, splits), b.or(of(p.nan), of(p.neg))), of(p.pos))
}
