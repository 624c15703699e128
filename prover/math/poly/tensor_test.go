package poly

import (
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"pgregory.net/rapid"
)

// tensor draws a shape and a point of its MLE.
func tensor(t *rapid.T) (shape []int, at []field.QM31, size int) {
	shape = rapid.SliceOfN(rapid.IntRange(1, 6), 0, 4).Draw(t, "shape")
	vars, size := 0, 1
	for _, d := range shape {
		vars += axisVars(d)
		size *= d
	}
	return shape, point(t, vars), size
}

// eqAt returns eq(point, ·) at entry i of the dense tensor, by the definition
// of its layout: every axis has its own variables, axis 1 the first ones.
func eqAt(shape []int, point []field.QM31, i int) field.QM31 {
	e := field.One
	for j := len(shape) - 1; j >= 0; j-- {
		v := axisVars(shape[j])
		e = e.Mul(naiveEq(point[len(point)-v:], i%shape[j]))
		point, i = point[:len(point)-v], i/shape[j]
	}
	return e
}

func TestTensor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, r, size := tensor(t)
		parts := SplitAxes(shape, r)
		if joined := JoinAxes(parts); len(joined) != len(r) {
			t.Fatalf("%d coordinates became %d", len(r), len(joined))
		} else {
			for i := range r {
				if joined[i] != r[i] {
					t.Fatalf("coordinate %d moved", i)
				}
			}
		}
		v, table := make([]int32, size), make([]field.QM31, size)
		var mask, value field.QM31
		eq := OuterEq(shape, parts)
		for i := range size {
			v[i] = rapid.Int32Range(-1<<30, 1<<30).Draw(t, "v")
			table[i] = field.FromM31(field.FromInt32(v[i]))
			e := eqAt(shape, r, i)
			if eq[i] != e {
				t.Fatalf("shape %v: OuterEq at %d", shape, i)
			}
			mask, value = mask.Add(e), value.Add(e.Mul(table[i]))
		}
		if TensorMask(shape, parts) != mask {
			t.Errorf("shape %v: mask", shape)
		}
		if EvalTensor(shape, v, r) != value {
			t.Errorf("shape %v: value", shape)
		}
		if padded := PadTable(table, shape); len(padded) != 1<<len(r) || Eval(padded, r) != value {
			t.Errorf("shape %v: padded table", shape)
		}
	})
}

// TestEvalTensorLarge has axes on both sides of the cut between the first and
// the last ones, and rows enough for several tasks.
func TestEvalTensorLarge(t *testing.T) {
	for _, shape := range [][]int{{5, 7, 9, 33}, {40, 3, 700}, {1, 1500, 2}, {3000}, {4, 1, 1}} {
		vars, size := 0, 1
		for _, d := range shape {
			vars += axisVars(d)
			size *= d
		}
		r, v := make([]field.QM31, vars), make([]int32, size)
		for j := range r {
			r[j] = field.NewQM31(field.M31(3*j+2), 1, field.M31(field.P-1-j), 7)
		}
		var want field.QM31
		for i := range v {
			v[i] = int32(i*7919%4001 - 2000)
			want = want.Add(eqAt(shape, r, i).MulM31(field.FromInt32(v[i])))
		}
		if EvalTensor(shape, v, r) != want {
			t.Errorf("shape %v", shape)
		}
	}
}
