package graph

import (
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
)

// grain is the least number of elements for which another goroutine is worth its cost.
const grain = 1 << 13

// apply maps f over a.
func apply[T number](a []T, f func(T) T) []T {
	out := make([]T, len(a))
	parallel.For(len(a), grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = f(a[i])
		}
	})
	return out
}

// zipWith maps f over the pairs of two tensors that broadcast to shape.
func zipWith[T number](a, b []T, sa, sb, shape []int, f func(a, b T) T) []T {
	out := make([]T, Size(shape))
	if slices.Equal(sa, sb) {
		parallel.For(len(out), grain, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				out[i] = f(a[i], b[i])
			}
		})
		return out
	}
	ta, tb := broadcastTables(sa, shape), broadcastTables(sb, shape)
	eachRow(shape, func(from, to int) {
		walkRows(shape, ta, tb, from, to, func(i, ja, jb int) { out[i] = f(a[ja], b[jb]) })
	})
	return out
}

// broadcastTables returns tables that map an index in shape to a position in a tensor of
// shape from, which broadcasts to shape: index (i_1, …, i_r) is at position Σ_k
// table_k[i_k].
func broadcastTables(from, shape []int) [][]int {
	st := Strides(from)
	off := len(shape) - len(from)
	tables := make([][]int, len(shape))
	for k, n := range shape {
		tables[k] = make([]int, n)
		if k < off || from[k-off] == 1 {
			continue
		}
		for i := range tables[k] {
			tables[k][i] = i * st[k-off]
		}
	}
	return tables
}

// walk calls f for each index of shape in row-major order, with its position i in shape,
// and its positions ja and jb by the tables ta and tb (see broadcastTables). No entry of
// the tables may be negative.
func walk(shape []int, ta, tb [][]int, f func(i, ja, jb int)) {
	walkRows(shape, ta, tb, 0, rowsIn(shape), f)
}

// rowsIn is the number of rows along the last axis of shape. A scalar is one row.
func rowsIn(shape []int) int {
	return Size(shape[:max(len(shape)-1, 0)])
}

// eachRow calls f with ranges [from, to) that make up all rows of shape, in parallel.
func eachRow(shape []int, f func(from, to int)) {
	n := rowsIn(shape)
	parallel.For(n, grain/max(1, Size(shape)/max(1, n)), f)
}

// walkRows is walk for the rows [from, to).
func walkRows(shape []int, ta, tb [][]int, from, to int, f func(i, ja, jb int)) {
	r := len(shape)
	if Size(shape) == 0 || from >= to {
		return
	}
	if r == 0 {
		f(0, 0, 0)
		return
	}
	idx := indexOf(from, shape[:r-1])
	lastA, lastB := ta[r-1], tb[r-1]
	for i := from * shape[r-1]; from < to; from++ {
		ja, jb := 0, 0
		for k, x := range idx {
			ja += ta[k][x]
			jb += tb[k][x]
		}
		for x := range lastA {
			f(i, ja+lastA[x], jb+lastB[x])
			i++
		}
		increment(idx, shape)
	}
}

// indexOf converts a row-major position in shape to an index.
func indexOf(at int, shape []int) []int {
	idx := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		idx[k], at = at%shape[k], at/shape[k]
	}
	return idx
}

// increment moves idx to the next index of shape's leading len(idx) axes, in row-major
// order.
func increment(idx, shape []int) {
	for k := len(idx) - 1; k >= 0; k-- {
		if idx[k]++; idx[k] < shape[k] {
			return
		}
		idx[k] = 0
	}
}
