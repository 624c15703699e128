package forward

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/model"
	"pgregory.net/rapid"
)

// naive computes the einsum entry by entry from its definition.
func naive(out []int, coef int64, a, b operand) []int64 {
	acc := make([]int64, model.Size(out))
	dims := map[int]int{}
	for l, d := range out {
		dims[l] = d
	}
	for _, x := range []operand{a, b} {
		for i, l := range x.labels {
			dims[l] = x.shape[i]
		}
	}
	var labels []int
	for l := range dims {
		labels = append(labels, l)
	}
	slices.Sort(labels)
	index := map[int]int{}
	at := func(shape, labels []int) int {
		o := 0
		for i, l := range labels {
			o = o*shape[i] + index[l]
		}
		return o
	}
	outLabels := make([]int, len(out))
	for i := range outLabels {
		outLabels[i] = i
	}
	var rec func(k int)
	rec = func(k int) {
		if k == len(labels) {
			acc[at(out, outLabels)] += coef * int64(a.v[at(a.shape, a.labels)]) * int64(b.v[at(b.shape, b.labels)])
			return
		}
		for i := range dims[labels[k]] {
			index[labels[k]] = i
			rec(k + 1)
		}
	}
	rec(0)
	return acc
}

func drawOperand(t *rapid.T, labels []int, dims map[int]int, name string) operand {
	x := operand{labels: labels}
	for _, l := range labels {
		x.shape = append(x.shape, dims[l])
	}
	n := model.Size(x.shape)
	x.v = rapid.SliceOfN(rapid.Int32Range(-100, 100), n, n).Draw(t, name)
	return x
}

func TestEinsum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		contracted := rapid.IntRange(0, 2).Draw(t, "contracted")
		dims := map[int]int{}
		var out, la, lb []int
		for l := range rank {
			d := rapid.IntRange(1, 4).Draw(t, "dim")
			dims[l] = d
			out = append(out, d)
			in := rapid.IntRange(0, 3).Draw(t, "in") // neither, A, B, both
			if in&1 != 0 {
				la = append(la, l)
			}
			if in&2 != 0 {
				lb = append(lb, l)
			}
		}
		for l := rank; l < rank+contracted; l++ {
			dims[l] = rapid.IntRange(1, 6).Draw(t, "k")
			la, lb = append(la, l), append(lb, l)
		}
		la, lb = rapid.Permutation(la).Draw(t, "la"), rapid.Permutation(lb).Draw(t, "lb")
		a, b := drawOperand(t, la, dims, "a"), drawOperand(t, lb, dims, "b")
		coef := rapid.Int64Range(-3, 3).Draw(t, "coef")
		acc := make([]int64, model.Size(out))
		einsum(acc, out, coef, a, b)
		if want := naive(out, coef, a, b); !slices.Equal(acc, want) {
			t.Fatalf("out %v, A %v %v, B %v %v: got %v, want %v", out, a.shape, la, b.shape, lb, acc, want)
		}
	})
}

// Sizes that take the parallel and the strip paths of both kernels.
func TestEinsumLarge(t *testing.T) {
	m, n, k := 3, 1500, 70
	a := operand{v: make([]int32, m*k), shape: []int{m, k}, labels: []int{0, 2}}
	for i := range a.v {
		a.v[i] = int32(i%23 - 11)
	}
	for _, columns := range []bool{false, true} {
		b := operand{v: make([]int32, n*k), shape: []int{n, k}, labels: []int{1, 2}}
		if columns {
			b.shape, b.labels = []int{k, n}, []int{2, 1}
		}
		for i := range b.v {
			b.v[i] = int32(i%37 - 18)
		}
		acc := make([]int64, m*n)
		einsum(acc, []int{m, n}, 2, a, b)
		if !slices.Equal(acc, naive([]int{m, n}, 2, a, b)) {
			t.Fatalf("columns=%v: wrong", columns)
		}
	}
}

func benchGEMV(b *testing.B, labels []int) {
	const n = 4096
	x := operand{v: make([]int32, n), shape: []int{1, n}, labels: []int{0, 2}}
	w := operand{v: make([]int32, n*n), shape: []int{n, n}, labels: labels}
	for i := range x.v {
		x.v[i] = int32(i + 1)
	}
	acc := make([]int64, n)
	b.SetBytes(4 * n * n)
	for b.Loop() {
		einsum(acc, []int{1, n}, 1, x, w)
	}
}

func BenchmarkGEMVRows(b *testing.B)    { benchGEMV(b, []int{1, 2}) }
func BenchmarkGEMVColumns(b *testing.B) { benchGEMV(b, []int{2, 1}) }
