package graph

import (
	"math"
	"slices"
)

// apart is the ratio of the largest to the smallest of some factors from which on they
// count as very different: a scale for all channels then leaves the smaller ones too few
// digits.
const apart = 1 << 12

// channels moves factors of the last axis that differ much from entry to entry from node n back to
// where they meet other constant factors, or an input. There are two cases: sc·x … /sc, where they
// cancel, and max(x, 0)·W, where the rows of W are of very different sizes. All channels of the
// values in between are then of about the same size. Factors may pass operators that are
// homogeneous: a Relu, a sum, a mean along other axes.
func (b *Builder) channels(n *node) {
	if v, ok := b.evened(n); ok && b.valid(v) {
		n.op, n.in = Identity{}, []*value{v.v}
	}
}

// evened returns the result of a node, computed with its factors moved away. It returns
// false if the factors do not differ much, or cannot be moved.
func (b *Builder) evened(n *node) (Value, bool) {
	if len(n.in) < 2 || n.in[0].tensor != nil || n.in[0].node == nil || n.in[1].tensor == nil || !n.out.dtype.IsFloat() {
		return Value{}, false
	}
	b.At(Kind(n.op), n.name)
	switch op := n.op.(type) {
	case Arithmetic:
		return b.evenedFactors(op, n)
	case MatMul:
		return b.evenedRows(n, false)
	case Gemm:
		if !op.TransA {
			return b.evenedRows(n, op.TransB)
		}
	}
	return Value{}, false
}

// evenedFactors is evened for the product of a value and a constant along the last axis.
func (b *Builder) evenedFactors(op Arithmetic, n *node) (Value, bool) {
	x, t := n.in[0], n.in[1].tensor
	if op != Mul || t.Len() == 1 || !alongLastAxis(x, t) || !slices.Equal(n.out.shape, x.shape) {
		return Value{}, false
	}
	if m := (&factors{b: b, by: lastAxis(x, t)}); differ(m.by) && m.reach(x) {
		return m.times(x), true
	}
	return Value{}, false
}

// evenedRows is evened for the product of a value and a constant matrix. The factors are
// the sizes of the matrix's rows, or of its columns if turned is set.
func (b *Builder) evenedRows(n *node, turned bool) (Value, bool) {
	x, t := n.in[0], n.in[1].tensor
	if len(t.Shape) != 2 {
		return Value{}, false
	}
	rows := t.Shape[0]
	if turned {
		rows = t.Shape[1]
	}
	m := &factors{b: b, by: make([]float64, rows)}
	if !m.reach(x) { // checked first, as reading the weights takes longer
		return Value{}, false
	}
	if m.by = rowSizes(t, turned, rows); !differ(m.by) {
		return Value{}, false
	}
	w := filled(t.Len(), func(i int) float32 { return float32(t.At(i) / m.by[row(t, turned, i)]) })
	in := []Value{m.times(x), b.made("weights of even size", &Tensor{Shape: t.Shape, DType: Float, F32: w, Public: t.Public})}
	for _, v := range n.in[2:] {
		in = append(in, Value{v})
	}
	return b.emit(n.op, in...), true
}

// channelDepth is the largest number of operators past which factors are moved.
const channelDepth = 8

// factors has a factor for each entry of the last axis, and what moves found on the way
// back.
type factors struct {
	b           *Builder
	by          []float64
	met, passed bool // met: other factors or an input; passed: an operator other than a product or sum with a constant
}

// reach reports whether the factors can be moved back from x, past at least one operator, and
// meet other factors or an input on every path.
func (f *factors) reach(x *value) bool {
	return f.moves(x, channelDepth) && f.met && f.passed
}

// moves reports whether the factors can be moved from x to where they meet others. It passes at
// most depth operators, and sets met and passed.
func (f *factors) moves(x *value, depth int) bool {
	if len(x.shape) == 0 || x.shape[len(x.shape)-1] != len(f.by) || x.whole != nil || x.parts != nil || !x.dtype.IsFloat() {
		return false
	}
	if x.node == nil {
		f.met = true
		return x.tensor == nil
	}
	n := x.node
	if depth == 0 {
		return false
	}
	switch op := n.op.(type) {
	case Scalar:
		f.passed = true
		return (op.Func == Relu || op.Func == LeakyRelu || op.Func == Abs || op.Func == Neg) && f.moves(n.in[0], depth-1)
	case Reduce:
		f.passed = true
		return op.Keep && op.Func != Product && !slices.Contains(op.Axes, len(x.shape)-1) && f.moves(n.in[0], depth-1)
	case Arithmetic:
		return f.movesPast(op, n, depth)
	}
	return false
}

// movesPast is moves for the result of n, whose operator op is an Arithmetic.
func (f *factors) movesPast(op Arithmetic, n *node, depth int) bool {
	x, y := n.in[0], n.in[1]
	switch {
	case x.tensor != nil:
		return false
	case y.tensor != nil && (!alongLastAxis(x, y.tensor) || !slices.Equal(x.shape, n.out.shape)):
		return false
	case y.tensor != nil && op == Mul:
		f.met = true
		return true
	case y.tensor != nil:
		return f.moves(x, depth-1)
	case op != Add && op != Sub:
		return false
	}
	f.passed = true
	return f.moves(x, depth-1) && f.moves(y, depth-1)
}

// times returns x times the factors, multiplied in where moves found that they can go.
func (f *factors) times(x *value) Value {
	b, n := f.b, x.node
	if n == nil {
		return b.Mul(Value{x}, f.constant(f.by))
	}
	switch op := n.op.(type) {
	case Scalar, Reduce:
		return b.emit(op, f.times(n.in[0]))
	case Arithmetic:
		if n.in[1].tensor == nil {
			return b.emit(op, f.times(n.in[0]), f.times(n.in[1]))
		}
		c := slices.Clone(lastAxis(n.in[0], n.in[1].tensor))
		same := true
		for i := range c {
			c[i] = float64(c[i] * f.by[i])
			same = same && math.Abs(c[i]-1) < 1e-7
		}
		switch {
		case op == Add || op == Sub:
			return b.emit(op, f.times(n.in[0]), f.constant(c))
		case same:
			return Value{n.in[0]}
		}
		return b.Mul(Value{n.in[0]}, f.constant(c))
	}
	return Value{}
}

// constant makes a constant of shape [len(c)].
func (f *factors) constant(c []float64) Value {
	return f.b.floats("factors", []int{len(c)}, convert[float32](c))
}

// alongLastAxis reports whether a constant has one element, or one for each entry of x's last axis, so
// that it does not vary along other axes.
func alongLastAxis(x *value, t *Tensor) bool {
	if len(x.shape) == 0 || len(t.Shape) > len(x.shape) || t.Len() == 0 {
		return false
	}
	last := x.shape[len(x.shape)-1]
	return t.Len() == 1 || t.Len() == last && t.Shape[len(t.Shape)-1] == last
}

// lastAxis returns the number that a constant (see alongLastAxis) has for each entry of
// x's last axis.
func lastAxis(x *value, t *Tensor) []float64 {
	return filled(lastOf(x.shape), func(i int) float64 { return t.At(i % t.Len()) })
}

// row is the index of the row of element i of a matrix, or of its column if turned is
// set.
func row(t *Tensor, turned bool, i int) int {
	if turned {
		return i % t.Shape[1]
	}
	return i / t.Shape[1]
}

// rowSizes returns, for each row of a matrix, or each column if turned is set, the power of two just
// above the largest magnitude in it; 1 for a row of zeros.
func rowSizes(t *Tensor, turned bool, rows int) []float64 {
	by := make([]float64, rows)
	for i := range t.Len() {
		at := row(t, turned, i)
		by[at] = math.Max(by[at], math.Abs(t.At(i)))
	}
	for i, most := range by {
		if by[i] = 1; most > 0 {
			_, exp := math.Frexp(most)
			by[i] = math.Ldexp(1, exp)
		}
	}
	return by
}

// differ reports whether the factors are positive and finite, and the largest is at least
// apart times the smallest.
func differ(by []float64) bool {
	lo, hi := slices.Min(by), slices.Max(by)
	return lo > 0 && !math.IsInf(hi, 0) && hi >= apart*lo
}
