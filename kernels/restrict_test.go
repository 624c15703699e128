package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/math/field"
)

func put[T kernels.Element](t *testing.T, d kernels.Device, v []T) kernels.Ptr {
	t.Helper()
	p, err := kernels.NewSlice(d, v)
	must(t, err)
	t.Cleanup(func() { d.Free(p) })
	return p
}

func get[T kernels.Element](t *testing.T, d kernels.Device, p kernels.Ptr, n int) []T {
	t.Helper()
	v := make([]T, n)
	must(t, kernels.DownloadSlice(d, v, p))
	return v
}

// integers returns n integers of a width, extremes among them, also as int32.
func integers(t *testing.T, d kernels.Device, rng *rand.Rand, n, width int) (kernels.Integers, []int32) {
	v := make([]int32, n)
	for i := range v {
		switch rng.IntN(6) {
		case 0:
			v[i] = -1 << (8*width - 1)
		case 1:
			v[i] = 1<<(8*width-1) - 1
		default:
			v[i] = int32(rng.Uint32()) >> (32 - 8*width)
		}
	}
	switch width {
	case 1:
		b := make([]int8, n)
		for i := range b {
			b[i] = int8(v[i])
		}
		return kernels.Integers{At: put(t, d, b), Width: 1}, v
	case 2:
		b := make([]int16, n)
		for i := range b {
			b[i] = int16(v[i])
		}
		return kernels.Integers{At: put(t, d, b), Width: 2}, v
	}
	return kernels.Integers{At: put(t, d, v), Width: 4}, v
}

// bind is the definition of RestrictInt and RestrictField.
func bind(b kernels.Binding, w []field.QM31, in func(i int) field.QM31) []field.QM31 {
	out := make([]field.QM31, b.Outer*b.Inner)
	for p := range b.Outer {
		for d := range b.N {
			for s := range b.Inner {
				out[p*b.Inner+s] = out[p*b.Inner+s].Add(w[d].Mul(in((p*b.N+d)*b.Inner + s)))
			}
		}
	}
	return out
}

func TestRestrict(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, b := range []kernels.Binding{
		{Outer: 1, N: 1, Inner: 1}, {Outer: 3, N: 5, Inner: 1}, {Outer: 9, N: 1, Inner: 1}, {Outer: 1, N: 1030, Inner: 1},
		{Outer: 33, N: 48, Inner: 1}, {Outer: 2, N: 1600, Inner: 1}, {Outer: 300, N: 80, Inner: 1},
		{Outer: 1, N: 3, Inner: 7}, {Outer: 3, N: 4, Inner: 6}, {Outer: 2, N: 600, Inner: 4},
		{Outer: 1, N: 70, Inner: 16}, {Outer: 3, N: 33, Inner: 144}, {Outer: 1, N: 32, Inner: 1040}, {Outer: 1, N: 700, Inner: 32},
	} {
		w := vectorQM31(rng, b.N, 1)
		b.Weights = put(t, d, w)
		out := put(t, d, make([]field.QM31, b.Outer*b.Inner))
		for _, width := range []int{1, 2, 4} {
			for _, noTensor := range []bool{false, true} {
				if noTensor && width > 1 {
					continue
				}
				b.NoTensor = noTensor
				in, values := integers(t, d, rng, b.Outer*b.N*b.Inner, width)
				must(t, kernels.RestrictInt(d, out, in, b))
				want := bind(b, w, func(i int) field.QM31 { return field.FromM31(field.FromInt32(values[i])) })
				same(t, fmt.Sprintf("%+v, width %d", b, width), get[field.QM31](t, d, out, len(want)), want)
			}
		}
		in := vectorQM31(rng, b.Outer*b.N*b.Inner, 3)
		must(t, kernels.RestrictField(d, out, put(t, d, in), b))
		want := bind(b, w, func(i int) field.QM31 { return in[i] })
		same(t, fmt.Sprintf("%+v over K", b), get[field.QM31](t, d, out, len(want)), want)
	}
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: entry %d of %d is %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

func TestArrange(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, l := range []kernels.Layout{
		{}, {Dims: []int{1}, Steps: []int{1}}, {Dims: []int{5}, Steps: []int{1}},
		{Dims: []int{3, 4}, Steps: []int{4, 1}}, {Dims: []int{6, 3, 1, 5}, Steps: []int{1, 30, 90, 6}},
	} {
		size, vars := 1, kernels.PaddedSize(l.Dims)
		for _, dim := range l.Dims {
			size *= dim
		}
		out := put(t, d, make([]field.QM31, vars))
		for _, width := range []int{1, 2, 4, 16} {
			var values []field.QM31
			if width == 16 {
				values = vectorQM31(rng, size, 2)
				must(t, kernels.ArrangeField(d, out, put(t, d, values), l))
			} else {
				in, ints := integers(t, d, rng, size, width)
				for _, v := range ints {
					values = append(values, field.FromM31(field.FromInt32(v)))
				}
				must(t, kernels.ArrangeInt(d, out, in, l))
			}
			want := make([]field.QM31, vars)
			var fill func(axis, from, to int)
			fill = func(axis, from, to int) {
				if axis == len(l.Dims) {
					want[to] = values[from]
					return
				}
				padded := kernels.PaddedSize(l.Dims[axis : axis+1])
				for i := range l.Dims[axis] {
					fill(axis+1, from+i*l.Steps[axis], to*padded+i)
				}
			}
			fill(0, 0, 0)
			same(t, fmt.Sprintf("%+v, width %d", l, width), get[field.QM31](t, d, out, vars), want)
		}
	}
}
