package cpu

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// TestRestrict compares every entry of the table with the tensor's MLE.
func TestRestrict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shape := make([]int, rapid.IntRange(0, 4).Draw(t, "rank"))
		r := backend.Restriction{Bound: make([][]field.QM31, len(shape))}
		for i := range shape {
			shape[i] = rapid.IntRange(1, 5).Draw(t, "dim")
			if rapid.Bool().Draw(t, "kept") {
				r.Keep = append(r.Keep, i)
				continue
			}
			r.Bound[i] = []field.QM31{}
			for range model.Log2Ceil(shape[i]) {
				r.Bound[i] = append(r.Bound[i], field.NewQM31(field.M31(rng.Uint32N(field.P)), 1, 2, field.M31(rng.Uint32N(field.P))))
			}
		}
		if len(r.Keep) > 1 {
			r.Keep = rapid.Permutation(r.Keep).Draw(t, "order")
		}
		bits := rapid.SampledFrom([]int{8, 16, 31}).Draw(t, "bits")
		data := make([]int32, model.Size(shape))
		for i := range data {
			data[i] = int32(rng.Uint32()) >> (32 - bits)
		}
		got := restrict(nil, shape, ints.Of(data), r)
		vars := 0
		for _, a := range r.Keep {
			vars += model.Log2Ceil(shape[a])
		}
		if len(got) != 1<<vars {
			t.Fatalf("%d entries, want 2^%d", len(got), vars)
		}
		for x, v := range got {
			parts := make([][]field.QM31, len(shape))
			copy(parts, r.Bound)
			rest := vars
			for _, a := range r.Keep {
				parts[a] = []field.QM31{}
				for range model.Log2Ceil(shape[a]) {
					rest--
					parts[a] = append(parts[a], field.FromM31(field.M31(x>>rest&1)))
				}
			}
			if want := poly.EvalTensor(shape, data, poly.JoinAxes(parts)); v != want {
				t.Fatalf("shape %v, bound %v, keep %v: entry %d is wrong", shape, r.Bound, r.Keep, x)
			}
		}
	})
}

// Few columns of many rows are added up in groups of rows: the table is that of the reference.
func TestRestrictGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shape := []int{2, 700, 13}
	point := make([]field.QM31, model.Log2Ceil(shape[1]))
	for i := range point {
		point[i] = field.NewQM31(field.M31(rng.Uint32N(field.P)), 1, 2, field.M31(rng.Uint32N(field.P)))
	}
	data := make([]int32, model.Size(shape))
	for i := range data {
		data[i] = int32(rng.Uint32())>>1 - 1<<29
	}
	got := restrict(nil, shape, ints.Of(data), backend.Restriction{Bound: [][]field.QM31{nil, point, nil}, Keep: []int{0, 2}})
	if len(got) != 2*16 {
		t.Fatalf("%d entries", len(got))
	}
	for x, v := range got {
		at := append([]field.QM31{field.FromM31(field.M31(x >> 4))}, point...)
		for bit := 3; bit >= 0; bit-- {
			at = append(at, field.FromM31(field.M31(x>>bit&1)))
		}
		if want := poly.EvalTensor(shape, data, at); v != want {
			t.Errorf("entry %d is wrong", x)
		}
	}
}
