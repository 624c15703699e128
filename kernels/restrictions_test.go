package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Many restrictions at once are those that RestrictInt and ArrangeField make one by one.
func TestRestrictions(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(9, 10))
	var list []kernels.Restriction
	var want [][]field.QM31
	add := func(b kernels.Binding, dims []int, l kernels.Layout, width int) {
		in, _ := integers(t, d, rng, b.Outer*max(b.N, 1)*b.Inner, width)
		table := put(t, d, make([]field.QM31, kernels.PaddedSize(l.Dims)))
		r := kernels.Restriction{In: in, Bound: b, Dims: dims, Layout: l}
		if b.N == 0 {
			must(t, kernels.ArrangeInt(d, table, in, l))
		} else {
			point := vectorQM31(rng, model.Vars(dims)+1, 1) // a slice on a device is not empty
			r.Point = point[:model.Vars(dims)]
			b.Weights, b.NoTensor = put(t, d, make([]field.QM31, b.N)), true
			must(t, kernels.EqTensor(d, b.Weights, put(t, d, point), dims))
			dense := put(t, d, make([]field.QM31, b.Outer*b.Inner))
			must(t, kernels.RestrictInt(d, dense, in, b))
			must(t, kernels.ArrangeField(d, table, dense, l))
		}
		n := kernels.PaddedSize(l.Dims)
		r.Out = put(t, d, vectorQM31(rng, n, 1)) // what was there before must not matter
		list, want = append(list, r), append(want, get[field.QM31](t, d, table, n))
	}
	for _, width := range []int{1, 2, 4} {
		add(kernels.Binding{Outer: 5, Inner: 3}, nil, kernels.Layout{Dims: []int{3, 5}, Steps: []int{1, 3}}, width)
		add(kernels.Binding{Outer: 1, N: 1, Inner: 1}, []int{1}, kernels.Layout{}, width)
		add(kernels.Binding{Outer: 11, N: 9, Inner: 1}, []int{3, 3}, kernels.Layout{Dims: []int{11}, Steps: []int{1}}, width)
		add(kernels.Binding{Outer: 1, N: 5000, Inner: 1}, []int{5000}, kernels.Layout{}, width)
		add(kernels.Binding{Outer: 2, N: 130, Inner: 6}, []int{13, 10}, kernels.Layout{Dims: []int{6, 2}, Steps: []int{1, 6}}, width)
		add(kernels.Binding{Outer: 1, N: 70, Inner: 1040}, []int{70}, kernels.Layout{Dims: []int{1040}, Steps: []int{1}}, width)
	}
	must(t, kernels.Restrict(d, list))
	for i := range list {
		same(t, fmt.Sprintf("restriction %d, %+v", i, list[i].Bound), get[field.QM31](t, d, list[i].Out, len(want[i])), want[i])
	}
	wrong := list[2]
	wrong.Dims = []int{9, 3}
	if err := kernels.Restrict(d, []kernels.Restriction{wrong}); err == nil {
		t.Error("axes of another number of entries are accepted")
	}
}
