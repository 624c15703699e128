package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Softmax is exp(x), divided by its sum along the last axis. Further operands are masks
// of 0 and 1 that broadcast to x. Where a mask is 0 the element does not count and the
// result is 0. At least one element of every row must count, unless Empty is set; then
// the results of a row without such elements are all 0.
type Softmax struct{ Empty bool }

// mostMasks bounds the number of masks of one Softmax.
const mostMasks = 7

func (Softmax) takes() operands { return operands{1, 1 + mostMasks, nil} }

func (s Softmax) infer(in []operandType) operandType {
	refuse.If(len(in[0].shape) == 0, "its input is a scalar")
	refuse.If(!in[0].dtype.IsFloat(), "its input has type %v", in[0].dtype)
	for _, mask := range in[1:] {
		checkMask(mask, in[0].shape, s.Empty)
	}
	return in[0]
}

// checkMask refuses a mask that does not fit scores of the given shape, or that is
// constant and masks a whole row, unless empty allows this.
func checkMask(mask operandType, shape []int, empty bool) {
	refuse.If(mask.value != nil && mask.dtype != Bool, "its mask is a constant of another type than bool")
	refuse.If(!spreads(mask.shape, shape), "its mask of shape %v does not broadcast to %v", mask.shape, shape)
	if mask.value == nil || empty {
		return
	}
	keys := 1
	if r := len(mask.shape); r > 0 {
		keys = mask.shape[r-1]
	}
	for row := mask.value.I64; len(row) > 0; row = row[keys:] {
		refuse.If(!slices.Contains(row[:keys], 1), "a row of its scores is masked altogether")
	}
}

// eval puts −∞ in the place of masked elements, and subtracts the greatest of each row before the
// exponentials.
func (s Softmax) eval(operands []operand, shape []int) operand {
	in := operands[0].float64s()
	for _, mask := range operands[1:] {
		values := mask.float64s()
		for i, m := range values {
			if m != 0 && m != 1 {
				refuse.With("element %d of its mask is %v: it takes 0 and 1", i, m)
			}
		}
		in = zipWith(in, values, shape, mask.shape, shape, func(x, m float64) float64 {
			if m == 0 {
				return math.Inf(-1)
			}
			return x
		})
	}
	n := shape[len(shape)-1]
	out := make([]float64, len(in))
	for at := 0; at < len(in); at += n {
		row, dst := in[at:at+n], out[at:at+n]
		top := slices.Max(row)
		if math.IsInf(top, -1) {
			if s.Empty {
				continue
			}
			refuse.With("row %d of its scores is masked altogether", at/n)
		}
		sum := 0.0
		for i, v := range row {
			dst[i] = elementary.Exp(v - top)
			sum += dst[i]
		}
		for i := range dst {
			dst[i] /= sum
		}
	}
	return operand{shape: shape, f: out}
}

// LogSoftmax is the logarithm of Softmax along the last axis. OfSoftmax says that the model computes it as Log of a Softmax. In
// float32 this Softmax underflows to 0 for entries far below the greatest.
type LogSoftmax struct{ OfSoftmax bool }

func (LogSoftmax) infer(in []operandType) operandType {
	return Softmax{}.infer(in)
}

func (LogSoftmax) eval(operands []operand, shape []int) operand {
	in := operands[0].float64s()
	n := shape[len(shape)-1]
	out := make([]float64, len(in))
	for at := 0; at < len(in); at += n {
		row, dst := in[at:at+n], out[at:at+n]
		top := slices.Max(row)
		sum := 0.0
		for _, v := range row {
			sum += elementary.Exp(v - top)
		}
		for i, v := range row {
			dst[i] = v - top - elementary.Log(sum)
		}
	}
	return operand{shape: shape, f: out}
}

// Softmax is exp(x), divided by its sum along axis.
func (b *Builder) Softmax(x Value, axis int) Value { return b.alongLast(Softmax{}, x, axis) }

// MaskedSoftmax is Softmax, but scores of −∞ may mask a whole row, whose weights are then
// 0.
func (b *Builder) MaskedSoftmax(x Value, axis int) Value {
	return b.alongLast(Softmax{Empty: true}, x, axis)
}

// LogSoftmax is the logarithm of Softmax along an axis.
func (b *Builder) LogSoftmax(x Value, axis int) Value { return b.alongLast(LogSoftmax{}, x, axis) }

// lessGreatest returns u if v is u − max(u), the maximum being taken along an axis, and
// nil otherwise.
func lessGreatest(v *value, axis int) *value {
	if n := operation(v, Sub); n != nil {
		if x, r := reduction(n.in[1]); x == n.in[0] && r.Func == MaxOf && r.Keep && slices.Equal(r.Axes, []int{axis}) {
			return x
		}
	}
	return nil
}

// alongLast applies op, which works along the last axis, along any axis: it moves this
// axis to the end, and back afterwards.
func (b *Builder) alongLast(op Op, x Value, axis int) (made Value) {
	defer b.refused(&made)
	b.needAxes(x, axis)
	rank := len(b.Shape(x))
	if from := lessGreatest(x.v, axis); from != nil && b.NotFinite(x) {
		x = Value{from} // it has the same Softmax, and its −∞ can become a mask
	}
	perm := index(rank, 1) // swaps axis and the last; its own inverse
	perm[axis], perm[rank-1] = rank-1, axis
	x = b.Transpose(x, perm)
	if _, ok := op.(Softmax); ok && b.NotFinite(x) && (b.pairs(x) || b.leavesMasks(x)) {
		return b.Transpose(b.softmaxParts(op, x), perm)
	}
	return b.Transpose(b.emit(op, x), perm)
}

// leavesMasks says whether scores may have −∞ that [Builder.Graph] will not recognise as
// a mask, or rows that consist of −∞.
func (b *Builder) leavesMasks(x Value) bool {
	v, all := x.v, (*Tensor)(nil)
	for {
		if s, m := openMaskOf(v); s != nil && m != nil {
			v = s
			continue
		}
		s, mask, rest := b.maskOf(v)
		if s == nil {
			return v.parts != nil && !v.partial
		}
		if all != nil {
			if refuse.Caught(func() { mask = both(all, mask) }) != nil {
				return true
			}
		}
		all = mask
		if refuse.Caught(func() { checkMask(operandType{shape: all.Shape, dtype: Bool, value: all}, x.v.shape, false) }) != nil {
			return true
		}
		if v = s; rest != nil { // unmask stops here as well
			return v.parts != nil && !v.partial
		}
	}
}

// softmaxParts is Softmax of scores some of which are −∞, which masks them. In a row that
// is masked altogether, the weights are NaN if the mask is constant and op does not allow
// empty rows; otherwise they are 0.
func (b *Builder) softmaxParts(op Op, x Value) Value {
	p := b.parts(x)
	if b.valid(p.nan) || b.valid(p.pos) {
		return b.Failf("%s may be NaN or +∞ here, and a Softmax of such numbers is not supported", Quote(b.Name(x)))
	}
	if !b.valid(p.neg) {
		return b.emit(op, p.fin)
	}
	y := b.emit(Softmax{Empty: true}, p.fin, b.Not(p.neg))
	if b.Tensor(p.neg) == nil || op.(Softmax).Empty {
		return y
	}
	last := []int{len(b.Shape(x)) - 1}
	return b.pair(Float, parts{fin: y, nan: b.Expand(b.ReduceMin(p.neg, last, true), b.Shape(x))})
}
