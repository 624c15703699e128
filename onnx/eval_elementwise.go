package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/prover/parallel"
)

// grain is the least number of elements worth a goroutine.
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
	out := make([]T, size(shape))
	if slices.Equal(sa, sb) {
		parallel.For(len(out), grain, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				out[i] = f(a[i], b[i])
			}
		})
		return out
	}
	ta, tb := broadcastTables(sa, shape), broadcastTables(sb, shape)
	walk(shape, ta, tb, func(i, ja, jb int) { out[i] = f(a[ja], b[jb]) })
	return out
}

// evalWhere takes from in[1] where in[0] is not zero, and from in[2] elsewhere.
func evalWhere(in []operand, shape []int) operand {
	cond := in[0].float64s()
	tc := broadcastTables(in[0].shape, shape)
	ta, tb := broadcastTables(in[1].shape, shape), broadcastTables(in[2].shape, shape)
	pick := make([]bool, size(shape))
	walk(shape, tc, tc, func(i, j, _ int) { pick[i] = cond[j] != 0 })
	out := operand{shape: shape}
	if a, b := in[1].i, in[2].i; a != nil && b != nil {
		out.i = make([]int64, len(pick))
		choose(out.i, a, b, pick, shape, ta, tb)
	} else {
		out.f = make([]float64, len(pick))
		choose(out.f, in[1].float64s(), in[2].float64s(), pick, shape, ta, tb)
	}
	return out
}

func choose[T number](dst, a, b []T, pick []bool, shape []int, ta, tb [][]int) {
	walk(shape, ta, tb, func(i, ja, jb int) {
		if pick[i] {
			dst[i] = a[ja]
		} else {
			dst[i] = b[jb]
		}
	})
}

// evalBatchNorm scales and shifts along axis 1.
func evalBatchNorm(in []operand, shape []int) []float64 {
	x := in[0].float64s()
	scale, shift := in[1].float64s(), in[2].float64s()
	inner := size(shape[2:])
	out := make([]float64, len(x))
	for i, v := range x {
		c := i / inner % shape[1]
		out[i] = v*scale[c] + shift[c]
	}
	return out
}

// evalSoftmax normalises along the last axis.
func evalSoftmax(x operand) []float64 {
	in := x.float64s()
	n := x.shape[len(x.shape)-1]
	out := make([]float64, len(in))
	for at := 0; at < len(in); at += n {
		row, dst := in[at:at+n], out[at:at+n]
		top := slices.Max(row)
		sum := 0.0
		for i, v := range row {
			dst[i] = math.Exp(v - top)
			sum += dst[i]
		}
		for i := range dst {
			dst[i] /= sum
		}
	}
	return out
}

// evalReduce combines x along the node's axes.
func evalReduce[T number](n *Node, x []T, in, shape []int, kinds map[string]reducer[T]) []T {
	r := kinds[n.Op]
	// Where an element goes: reduced axes contribute nothing to the index.
	reduced := make([]bool, len(in))
	for _, a := range n.Ints["axes"] {
		reduced[a] = true
	}
	to := make([][]int, len(in))
	stride, count := 1, 1
	for a := len(in) - 1; a >= 0; a-- {
		to[a] = make([]int, in[a])
		if reduced[a] {
			count *= in[a]
			continue
		}
		for i := range to[a] {
			to[a][i] = i * stride
		}
		stride *= in[a]
	}
	out := make([]T, size(shape))
	for i := range out {
		out[i] = r.start
	}
	walk(in, to, to, func(i, j, _ int) { out[j] = r.step(out[j], x[i]) })
	if r.end != nil {
		for i := range out {
			out[i] = r.end(out[i], count)
		}
	}
	return out
}
