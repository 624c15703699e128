package model

import (
	"reflect"
	"testing"
)

// TestContraction: every label is found once, with its axes, in its order.
func TestContraction(t *testing.T) {
	// out[b, i, r, j] = Σ_{k, l} A[k, b, i, l] · B[l, j, k, b], repeated along r.
	p := &Product{LabelsA: []int{9, 0, 1, 7}, LabelsB: []int{7, 3, 9, 0}}
	got := NewContraction(p, []int{6, 2, 3, 5}, []int{5, 4, 6, 2}, []int{2, 3, 8, 4})
	want := &Contraction{
		Batch:  []Label{{ID: 0, Dim: 2, A: 1, B: 3, Out: 0}},
		FreeA:  []Label{{ID: 1, Dim: 3, A: 2, B: -1, Out: 1}},
		FreeB:  []Label{{ID: 3, Dim: 4, A: -1, B: 1, Out: 3}},
		Sum:    []Label{{ID: 9, Dim: 6, A: 0, B: 2, Out: -1}, {ID: 7, Dim: 5, A: 3, B: 0, Out: -1}},
		Repeat: []Label{{ID: 2, Dim: 8, A: -1, B: -1, Out: 2}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
