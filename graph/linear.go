package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Gemm is Alpha·A'·B' + Beta·C. A' is A, or its transpose if TransA is set, and B'
// likewise. A and B have two axes; the optional C broadcasts to the result. In a graph
// Alpha and Beta are 1, and if there is a C, it and at least one of A and B are constant.
type Gemm struct {
	TransA, TransB bool
	Alpha, Beta    float64
}

func (Gemm) takes() operands { return operands{2, 3, floats} }

func (g Gemm) infer(in []operandType) operandType {
	f := g.Alpha + g.Beta
	refuse.If(math.IsNaN(f) || math.IsInf(f, 0), "alpha is %v, beta %v", g.Alpha, g.Beta)
	a, b := in[0].shape, in[1].shape
	refuse.If(len(a) != 2 || len(b) != 2, "its operands have shapes %v and %v, not two axes each", a, b)
	m, k, kb, n := a[0], a[1], b[0], b[1]
	if g.TransA {
		m, k = k, m
	}
	if g.TransB {
		kb, n = n, kb
	}
	refuse.If(k != kb, "shapes %v and %v do not multiply", a, b)
	shape := []int{m, n}
	if len(in) > 2 {
		refuse.If(!spreads(in[2].shape, shape), "its third operand, of shape %v, does not broadcast to %v", in[2].shape, shape)
	}
	return operandType{shape: shape, dtype: Float}
}

func (g Gemm) eval(in []operand, shape []int) operand {
	a := in[0].float64s()
	k := in[0].shape[1]
	if g.TransA {
		k = in[0].shape[0]
		a = move(a, [][]int{index(shape[0], 1), index(k, shape[0])}, []int{shape[0], k}, 0)
	}
	out := make([]float64, Size(shape))
	if s := in[1].stored; s != nil {
		multiplyStored(out, a, s, shape[0], k, shape[1])
	} else {
		multiply(out, a, in[1], 0, shape[0], k, shape[1], g.TransB)
	}
	if len(in) > 2 {
		c := in[2].float64s()
		t := broadcastTables(in[2].shape, shape)
		walk(shape, t, t, func(i, j, _ int) { out[i] += c[j] })
	}
	return operand{shape: shape, f: out}
}

// Gemm applies g to x, y and, if there is one, z. Alpha is multiplied into x or y if one of them is
// constant, else into their product; Beta is multiplied into z. If z is not constant, or neither x nor y
// is, it is added to the product by an Add.
func (b *Builder) Gemm(g Gemm, x, y Value, z ...Value) (made Value) {
	defer b.refused(&made)
	in := append([]Value{x, y}, z...)
	b.need(in...)
	inferred(g, b.operandTypes(in...)) // the shapes are checked before anything is scaled
	alpha, beta := g.Alpha, g.Beta
	g.Alpha, g.Beta = 1, 1
	weighs := true
	switch {
	case b.Tensor(y) != nil:
		y, alpha = b.scaled(y, alpha), 1
	case b.Tensor(x) != nil:
		x, alpha = b.scaled(x, alpha), 1
	default:
		weighs = false
	}
	if len(z) == 0 || beta == 0 {
		return b.scaled(b.emit(g, x, y), alpha)
	}
	c := b.scaled(z[0], beta)
	if weighs && b.AllNumbers(c) != nil {
		return b.emit(g, x, y, c)
	}
	return b.Add(b.scaled(b.emit(g, x, y), alpha), c)
}

// scaled returns v times factor; the factor is mostly 1.
func (b *Builder) scaled(v Value, factor float64) Value {
	if factor == 1 {
		return v
	}
	return b.Mul(v, b.number("factor", factor))
}

// MatMul multiplies matrices, which are along the last two axes of its operands. The
// other axes broadcast.
type MatMul struct{}

func (MatMul) takes() operands { return operands{2, 2, floats} }

func (MatMul) infer(in []operandType) operandType {
	a, b := in[0].shape, in[1].shape
	ra, rb := len(a), len(b)
	refuse.If(ra < 2 || rb < 2, "its operands have shapes %v and %v, not two axes or more", a, b)
	batch, ok := Broadcast(a[:ra-2], b[:rb-2])
	refuse.If(!ok || a[ra-1] != b[rb-2], "shapes %v and %v do not multiply", a, b)
	return operandType{shape: append(batch, a[ra-2], b[rb-1]), dtype: Float}
}

func (MatMul) eval(in []operand, shape []int) operand {
	r := len(shape)
	batch := shape[:r-2]
	m, n := shape[r-2], shape[r-1]
	sa, sb := in[0].shape, in[1].shape
	k := sa[len(sa)-1]
	out := operand{shape: shape, f: make([]float64, Size(shape))}
	a := in[0].float64s()
	if Size(sb[:len(sb)-2]) == 1 { // one matrix for all rows of A
		multiply(out.f, a, in[1], 0, Size(batch)*m, k, n, false)
		return out
	}
	b := in[1]
	if b.w == nil {
		b.f = b.float64s()
	}
	ta, tb := broadcastTables(sa[:len(sa)-2], batch), broadcastTables(sb[:len(sb)-2], batch)
	walk(batch, ta, tb, func(i, ja, jb int) {
		multiply(out.f[i*m*n:(i+1)*m*n], a[ja*m*k:(ja+1)*m*k], b, jb*k*n, m, k, n, false)
	})
	return out
}

// MatMul is the matrix product of NumPy: leading axes broadcast. An operand with one axis
// is taken as a row on the left and as a column on the right, and the result does not
// have this axis.
func (b *Builder) MatMul(x, y Value) (made Value) {
	defer b.refused(&made)
	b.need(x, y)
	sx, sy := b.Shape(x), b.Shape(y)
	refuse.If(len(sx) == 0 || len(sy) == 0, "an operand is a scalar")
	if len(sx) == 1 {
		x = b.Reshape(x, []int{1, sx[0]})
	}
	if len(sy) == 1 {
		y = b.Reshape(y, []int{sy[0], 1})
	}
	v := b.emit(MatMul{}, x, y)
	b.need(v)
	full := b.Shape(v)
	shape := slices.Clone(full[:len(full)-2])
	if len(sx) > 1 {
		shape = append(shape, full[len(full)-2])
	}
	if len(sy) > 1 {
		shape = append(shape, full[len(full)-1])
	}
	return b.Reshape(v, shape)
}
