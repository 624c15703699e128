package graph

import (
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// ReduceMax is the greatest element along ascending axes.
func (b *Builder) ReduceMax(x Value, axes []int, keep bool) Value {
	return b.Reduce(MaxOf, x, axes, keep)
}

// ReduceMin is the least element along ascending axes.
func (b *Builder) ReduceMin(x Value, axes []int, keep bool) Value {
	if b.Tensor(x) != nil {
		return b.Reduce(MinOf, x, axes, keep)
	}
	return b.Negative(b.Reduce(MaxOf, b.Negative(x), axes, keep))
}

// ReduceProd is the product of the elements along ascending axes. For computed values
// each axis is halved repeatedly: its first half is multiplied by its second half.
func (b *Builder) ReduceProd(x Value, axes []int, keep bool) (made Value) {
	defer b.refused(&made)
	if b.Tensor(x) != nil || !b.valid(x) {
		return b.Reduce(Product, x, axes, keep)
	}
	b.needAxes(x, axes...)
	in := b.Shape(x)
	for _, a := range axes {
		var odd []Value // last elements of odd lengths, multiplied in at the end, as the products have another scale
		for n := b.Shape(x)[a]; n > 1; n = b.Shape(x)[a] {
			half := n / 2
			if n%2 == 1 {
				odd = append(odd, b.SliceAxis(x, a, n-1, 1, 1))
			}
			if x = b.InType(b.Mul(b.SliceAxis(x, a, 0, 1, half), b.SliceAxis(x, a, half, 1, half))); !b.valid(x) {
				return x
			}
		}
		for _, v := range odd {
			x = b.InType(b.Mul(x, v))
		}
	}
	return b.Reshape(x, Reduce{Axes: axes, Keep: keep}.shape(in))
}

// ReduceLogSumExp is the logarithm of the sum of exponentials along axes. The greatest
// element is subtracted before the exponentials and added to the result.
func (b *Builder) ReduceLogSumExp(x Value, axes []int, keep bool) Value {
	shape := Reduce{Axes: axes, Keep: keep}.shape(b.Shape(x))
	top := b.ReduceMax(x, axes, true)
	sum := b.Reduce(Sum, b.Apply(Exp, b.Sub(x, top)), axes, true)
	return b.Reshape(b.Add(b.Apply(Log, sum), top), shape)
}

// logSum returns the logarithm of sum as a ReduceLogSumExp, if sum is a sum of
// exponentials. The range of the sum itself may be far larger than any scale can hold.
func (b *Builder) logSum(sum Value) (Value, bool) {
	of, r := reduction(sum.v)
	x, _ := function(of, Exp)
	if x == nil || r.Func != Sum || x.tensor != nil {
		return Value{}, false
	}
	if a := operation(x, Sub); a != nil {
		if from, m := reduction(a.in[1]); from != nil && m.Func == MaxOf {
			return Value{}, false // the model subtracts the greatest element itself
		}
	}
	return b.ReduceLogSumExp(Value{x}, r.Axes, r.Keep), true
}

// ArgMax is the index of the greatest element along an axis, and the first or the last
// such index if several elements are equal to it. The axis stays, with dimension 1.
//
// For computed values: every element i that equals the greatest gets the number n − i if
// the first one is wanted, or i + 1 if the last one is, and all others get 0. The maximum
// of these numbers gives the index.
func (b *Builder) ArgMax(x Value, axis int, last bool) (made Value) {
	defer b.refused(&made)
	b.needAxes(x, axis)
	in := b.Shape(x)
	n := in[axis]
	greatest := b.Test(IsNotNegative, b.Sub(x, b.ReduceMax(x, []int{axis}, true)))
	b.needRoom(n)
	rank := make([]int64, n)
	for i := range rank {
		rank[i] = int64(n - i)
		if last {
			rank[i] = int64(i + 1)
		}
	}
	shape := slices.Repeat([]int{1}, len(in)-axis) // n along axis, 1 along those after it
	shape[0] = n
	places := b.Mul(b.Cast(greatest, Int64), b.Integers(shape, rank))
	best := b.ReduceMax(places, []int{axis}, true)
	if last {
		return b.Sub(best, b.like(best, 1))
	}
	return b.Sub(b.like(best, float64(n)), best)
}

// Hardmax is 1 at the first of the greatest elements along an axis, and 0 elsewhere.
func (b *Builder) Hardmax(x Value, axis int) Value {
	if !b.valid(x) {
		return x
	}
	return b.Cast(b.OneHot(b.ArgMax(x, axis, false), axis, b.Shape(x)[axis]), b.DType(x))
}

// OneHot replaces an axis of dimension 1, which holds an index, by n truth values: the
// one at the index is 1. For an index outside of [0, n) all are 0.
func (b *Builder) OneHot(of Value, axis, n int) (made Value) {
	defer b.refused(&made)
	b.need(of)
	shape := slices.Repeat([]int{1}, len(b.Shape(of))-axis)
	b.needRoom(n)
	shape[0] = n
	return b.Compare(Equal, of, b.constantLike(of, "indices", shape, index(n, 1.0)))
}

// TopK returns the k greatest elements along the last axis in descending order, or if
// least is set the k least in ascending order, and their indices. Equal elements keep
// their order.
//
// The place of an element is the number of elements that come before it in this order,
// which is counted over all pairs (see place). The result at position k is the sum over
// all elements of the element times [its place is k].
func (b *Builder) TopK(x Value, k int, least bool) (values, indices Value) {
	if !b.valid(x) {
		return x, x
	}
	in := b.Shape(x)
	r := len(in)
	if r == 0 || k < 0 || k > in[r-1] {
		return b.Failf("%d of shape %v", k, in), Value{}
	}
	place := b.place(x, least)
	n, rows := in[r-1], append(slices.Clone(in), 1)
	if !b.Room(n + k) {
		return Value{}, Value{}
	}
	pick := b.Test(IsZero, b.Sub(place, b.Integers([]int{1, k}, index(k, int64(1))))) // (…, i, k)
	indices = b.Reduce(Sum, b.Mul(b.Cast(pick, Int64), b.Integers([]int{n, 1}, index(n, int64(1)))), []int{r - 1}, false)
	values = b.Reduce(Sum, b.Mul(b.Cast(pick, b.DType(x)), b.Reshape(x, rows)), []int{r - 1}, false)
	return values, indices
}

// place returns, for every element of x, the number of elements of its row (along the
// last axis) that come before it in descending order, or in ascending order if least is
// set. Of equal elements the first comes first. The shape is that of x with a last axis
// of dimension 1 added.
func (b *Builder) place(x Value, least bool) (out Value) {
	defer b.refused(&out)
	in := b.Shape(x)
	r := len(in)
	n := in[r-1]
	const most = 1 << 10
	refuse.If(n > most && b.Tensor(x) == nil, "an order of %d elements; %d at most are supported", n, most)
	rows := append(slices.Clone(in), 1) // element i at (…, i, 0)
	cols := append(slices.Clone(in[:r-1]), 1, n)
	a, c := b.Reshape(x, rows), b.Reshape(x, cols)
	if least {
		a, c = c, a
	}
	// c − a at (i, j): how much j is greater than i. Ties go to the smaller index.
	diff := b.Sub(c, a)
	b.needRoom(n, n)
	before := make([]int64, n*n) // 1 where j < i
	for i := range n {
		for j := range i {
			before[i*n+j] = 1
		}
	}
	mask := b.made("before", &Tensor{Shape: []int{n, n}, DType: Int64, I64: before, Public: true})
	greater, equal := b.Cast(b.Test(IsPositive, diff), Int64), b.Cast(b.Test(IsZero, diff), Int64)
	return b.Reduce(Sum, b.Add(greater, b.Mul(equal, mask)), []int{r}, true) // (…, i, 1)
}

// Among is 1 for the k greatest elements along the last axis, and 0 for the others. Of
// equal elements the first are chosen.
func (b *Builder) Among(x Value, k int) Value {
	return b.Reshape(b.Cast(b.among(x, k), b.DType(x)), b.Shape(x))
}

// Chosen is Among with results of type bool.
func (b *Builder) Chosen(x Value, k int) Value { return b.Reshape(b.among(x, k), b.Shape(x)) }

// among is Chosen in the shape that place returns.
func (b *Builder) among(x Value, k int) (made Value) {
	defer b.refused(&made)
	b.need(x)
	in := b.Shape(x)
	refuse.If(k < 1 || k > lastOf(in), "%d of shape %v", k, in)
	place := b.place(x, false)
	b.need(place)
	return b.Test(IsPositive, b.Sub(b.like(place, float64(k)), place))
}
