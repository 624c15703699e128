package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Reduce combines the elements along axes.
type Reduce struct {
	Func Reduction
	Axes []int // ascending
	Keep bool  // keeps the axes, with dimension 1
}

// Reduction says how Reduce combines elements.
type Reduction uint8

// The reductions.
const (
	Sum Reduction = iota
	Mean
	MaxOf
	// These serve constants only. For computed operands [Builder.ReduceMin] and
	// [Builder.ReduceProd] expand them.
	MinOf
	Product
)

// reducer combines elements: from start on it applies step to the result so far and each
// element, and at the end it applies end to the result and the number of elements.
type reducer[T number] struct {
	start T
	step  func(a, b T) T
	end   func(a T, n int) T // nil: the result stays as it is
}

var reductions = [...]struct {
	name   string
	floats reducer[float64]
	ints   reducer[int64] // zero if the reduction does not accept integers
}{
	Sum:     {"ReduceSum", reducer[float64]{0, sum[float64], nil}, reducer[int64]{0, sum[int64], nil}},
	Mean:    {"ReduceMean", reducer[float64]{0, sum[float64], func(a float64, n int) float64 { return a / float64(n) }}, reducer[int64]{}},
	MaxOf:   {"ReduceMax", reducer[float64]{math.Inf(-1), larger[float64], nil}, reducer[int64]{math.MinInt64, larger[int64], nil}},
	MinOf:   {"ReduceMin", reducer[float64]{math.Inf(1), smaller[float64], nil}, reducer[int64]{math.MaxInt64, smaller[int64], nil}},
	Product: {"ReduceProd", reducer[float64]{1, multiplied[float64], nil}, reducer[int64]{1, multiplied[int64], nil}},
}

func (r Reduce) kind() string { return reductions[r.Func].name }

func (r Reduce) constantsOnly() bool { return r.Func > MaxOf }

func (r Reduce) infer(in []operandType) operandType {
	x := in[0]
	checkAxes(r.Axes, len(x.shape))
	refuse.If(!x.dtype.IsFloat() && x.value == nil && r.Func == Mean, "its input has type %v", x.dtype)
	return operandType{shape: r.shape(x.shape), dtype: x.dtype}
}

// shape returns the shape of the result.
func (r Reduce) shape(in []int) []int {
	shape := []int{}
	for i, d := range in {
		switch {
		case !slices.Contains(r.Axes, i):
			shape = append(shape, d)
		case r.Keep:
			shape = append(shape, 1)
		}
	}
	return shape
}

func (r Reduce) eval(in []operand, shape []int) operand {
	f := &reductions[r.Func]
	if in[0].i == nil {
		return operand{shape: shape, f: combine(in[0].float64s(), in[0].shape, shape, r.Axes, f.floats)}
	}
	refuse.If(f.ints.step == nil, "%s has no evaluation on integers", f.name)
	return operand{shape: shape, i: combine(in[0].i, in[0].shape, shape, r.Axes, f.ints)}
}

// combine reduces x, of shape in, along axes. shape is that of the result.
func combine[T number](x []T, in, shape, axes []int, r reducer[T]) []T {
	// The table of each axis gives its part of the position in the result. Reduced axes
	// contribute nothing.
	to := make([][]int, len(in))
	stride, count := 1, 1
	for a := len(in) - 1; a >= 0; a-- {
		to[a] = make([]int, in[a])
		if slices.Contains(axes, a) {
			count *= in[a]
			continue
		}
		for i := range to[a] {
			to[a][i] = i * stride
		}
		stride *= in[a]
	}
	out := slices.Repeat([]T{r.start}, Size(shape))
	walk(in, to, to, func(i, j, _ int) { out[j] = r.step(out[j], x[i]) })
	if r.end != nil {
		for i := range out {
			out[i] = r.end(out[i], count)
		}
	}
	return out
}

// Reduce combines the elements of x along ascending axes. If keep is set these stay, with
// dimension 1.
func (b *Builder) Reduce(f Reduction, x Value, axes []int, keep bool) (made Value) {
	defer b.refused(&made)
	b.needAxes(x, axes...)
	in := b.Shape(x)
	r := Reduce{f, axes, keep}
	n := Norm{Axes: axes}.Count(in)
	if dt := b.DType(x); n == 0 && (f == MaxOf || f == MinOf) && !dt.IsFloat() {
		lo, hi := dt.Bounds() // of no elements: the least or greatest number of the type
		if f == MinOf {
			lo = hi
		}
		return b.Fill(r.shape(in), &Tensor{Shape: []int{}, DType: dt, I64: []int64{lo}})
	}
	if n == 1 { // sum, mean, extremes and product of one element
		return b.Reshape(x, r.shape(in))
	}
	if f == Mean && n > 0 && !b.DType(x).IsFloat() && b.Tensor(x) == nil { // rounded towards zero
		sum := b.InType(b.Reduce(Sum, x, axes, keep))
		return b.Div(sum, b.like(sum, float64(n)))
	}
	return b.emit(r, x)
}
