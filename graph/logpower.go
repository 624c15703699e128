package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/refuse"
)

// LogPower is log(Σ x² + Epsilon), such as the logarithm of a spectrum's power. The sum
// is along the last axis, which the result does not have.
type LogPower struct {
	Epsilon float64 // not negative
}

func (LogPower) takes() operands { return operands{1, 1, floats} }

func (p LogPower) infer(in []operandType) operandType {
	last := len(in[0].shape) - 1
	refuse.If(last < 0, "its operand has no axes")
	refuse.If(!(p.Epsilon >= 0) || math.IsInf(p.Epsilon, 0), "its epsilon is %v", p.Epsilon)
	return operandType{shape: in[0].shape[:last:last], dtype: in[0].dtype}
}

func (p LogPower) eval(in []operand, shape []int) operand {
	x := in[0].float64s()
	out := make([]float64, Size(shape))
	row := len(x) / len(out)
	for i := range out {
		sum := 0.0
		for _, v := range x[i*row : (i+1)*row] {
			sum += float64(v * v)
		}
		out[i] = elementary.Log(sum + p.Epsilon)
	}
	return operand{shape: shape, f: out}
}

// LogPower is the logarithm of op's epsilon plus the sum of the squares of x along the
// last axis.
func (b *Builder) LogPower(op LogPower, x Value) Value { return b.emit(op, x) }

// logarithm replaces n if it is log s and of(s) returns another value for this logarithm.
func (b *Builder) logarithm(n *node, of func(s *value) (Value, bool)) {
	s, _ := function(n.out, Log)
	if s == nil || !n.out.dtype.IsFloat() {
		return
	}
	b.At("Log", n.name)
	if v, ok := of(s); ok {
		n.op, n.in = Reshape{n.out.shape}, []*value{v.v}
	}
}

// logPower returns the logarithm of v = s + ε as a LogPower, if s is a sum of a few squares,
// or the square of the root of such a sum. No scale holds both powers as small as ε and large
// ones; the numbers that are squared need only half as many digits.
func (b *Builder) logPower(v *value) (Value, bool) {
	epsilon := 0.0
	if add := operation(v, Add); add != nil {
		if x, c, ok := split(add); ok && c >= 0 && slices.Equal(x.shape, v.shape) {
			v, epsilon = x, c
		}
	}
	v, moves := unmoved(v)
	if x := squared(v); x != nil {
		from, more := unmoved(x)
		root, _ := function(from, Sqrt)
		if root == nil {
			return Value{}, false
		}
		v, moves = root, append(moves, more...)
	}
	rows, ok := b.components(v)
	if !ok {
		return Value{}, false
	}
	y := b.LogPower(LogPower{epsilon}, rows)
	if n := len(moves); n > 0 {
		if _, turns := moves[n-1].(Transpose); turns { // of the axes of v, which may have kept the axis of the sum
			y = b.Reshape(y, v.shape)
		}
	}
	y = b.moved(y, moves)
	return y, b.valid(y)
}

// squareRoots returns a value with one axis more than v, such that v is the sum of its squares
// along the last axis. It succeeds if v is one square, a sum of a few, or the square of the root
// of such a sum.
func (b *Builder) squareRoots(v *value) (Value, bool) {
	v, moves := unmoved(v)
	var rows Value
	if x := squared(v); x != nil {
		rows = Value{x}
		if from, more := unmoved(x); from.node != nil {
			if root, _ := function(from, Sqrt); root != nil {
				if parts, ok := b.components(root); ok {
					v, rows, moves = root, parts, append(moves, more...)
				}
			}
		}
	} else {
		parts, ok := b.components(v)
		if !ok {
			return Value{}, false
		}
		rows = parts
	}
	parts := Size(b.Shape(rows)) / max(Size(v.shape), 1)
	rows = b.Reshape(rows, append(slices.Clone(v.shape), parts))
	for _, move := range slices.Backward(moves) {
		switch m := move.(type) {
		case Reshape:
			rows = b.Reshape(rows, append(slices.Clone(m.Shape), parts))
		case Transpose:
			rows = b.Transpose(rows, append(slices.Clone(m.Perm), len(m.Perm)))
		}
	}
	return rows, b.valid(rows)
}

// moved applies to v the moves that unmoved returns.
func (b *Builder) moved(v Value, moves []Op) Value {
	for _, move := range slices.Backward(moves) {
		v = b.emit(move, v)
	}
	return v
}

// unmoved follows v through operators that only move entries. It returns the value before
// them, and the moves, the last one first.
func unmoved(v *value) (*value, []Op) {
	var moves []Op
	for v.node != nil {
		switch v.node.op.(type) {
		case Reshape, Transpose, Identity:
			moves = append(moves, v.node.op)
			v = v.node.in[0]
			continue
		}
		break
	}
	return v, moves
}
