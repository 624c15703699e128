package poly

import (
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"pgregory.net/rapid"
)

// limb favours the values at which reductions go wrong.
var limb = rapid.Map(rapid.OneOf(
	rapid.Uint32Range(0, 2), rapid.Uint32Range(field.P-2, field.P-1), rapid.Uint32Range(0, field.P-1),
), func(v uint32) field.M31 { return field.M31(v) })

var scalar = rapid.Custom(func(t *rapid.T) field.QM31 {
	return field.NewQM31(limb.Draw(t, "a0"), limb.Draw(t, "a1"), limb.Draw(t, "a2"), limb.Draw(t, "a3"))
})

func point(t *rapid.T, n int) []field.QM31 { return rapid.SliceOfN(scalar, n, n).Draw(t, "point") }

// naiveEq is the definition of eq(r, i), bit by bit.
func naiveEq(r []field.QM31, i int) field.QM31 {
	e := field.One
	for j := range r {
		if i>>(len(r)-1-j)&1 == 1 {
			e = e.Mul(r[j])
		} else {
			e = e.Mul(field.One.Sub(r[j]))
		}
	}
	return e
}

// naiveSum returns Σ_{i<n} eq(r, i)·f(i).
func naiveSum(r []field.QM31, n int, f func(i int) field.QM31) field.QM31 {
	sum := field.Zero
	for i := range n {
		sum = sum.Add(naiveEq(r, i).Mul(f(i)))
	}
	return sum
}

func TestEqTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := point(t, rapid.IntRange(0, 9).Draw(t, "n"))
		for i, got := range EqTable(r) {
			if got != naiveEq(r, i) || got != EqIndex(r, uint64(i)) {
				t.Fatalf("entry %d is wrong", i)
			}
		}
	})
}

func TestEq(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		a, b := point(t, n), point(t, n)
		want := naiveSum(a, 1<<n, func(i int) field.QM31 { return naiveEq(b, i) })
		if Eq(a, b) != want {
			t.Fatal("eq(a, b) ≠ Σ eq(a, i)·eq(b, i)")
		}
	})
}

func TestEval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "n")
		r := point(t, n)
		size := rapid.IntRange(0, 1<<n).Draw(t, "size")
		k := rapid.SliceOfN(scalar, size, size).Draw(t, "table")
		base := make([]field.M31, size)
		ints := make([]int32, size)
		for i := range k {
			base[i] = k[i].C0.A1
			ints[i] = int32(k[i].C1.A0)
			if i%2 == 1 {
				ints[i] = -ints[i]
			}
		}
		if Eval(k, r) != naiveSum(r, size, func(i int) field.QM31 { return k[i] }) {
			t.Fatal("K")
		}
		if EvalM31(base, r) != naiveSum(r, size, func(i int) field.QM31 { return field.FromM31(base[i]) }) {
			t.Fatal("base field")
		}
		if EvalInt32(ints, r) != naiveSum(r, size, func(i int) field.QM31 { return field.FromM31(field.FromInt64(int64(ints[i]))) }) {
			t.Fatal("integers")
		}
	})
}

// TestEvalLarge crosses the threshold at which rows are summed in parallel.
func TestEvalLarge(t *testing.T) {
	const n = 15
	r := make([]field.QM31, n)
	for j := range r {
		r[j] = field.NewQM31(field.M31(7*j+1), field.M31(3*j), 5, field.M31(field.P-1-j))
	}
	table := make([]field.QM31, 1<<n-77)
	for i := range table {
		table[i] = field.FromM31(field.M31(i)).Mul(r[i%n])
	}
	if Eval(table, r) != naiveSum(r, len(table), func(i int) field.QM31 { return table[i] }) {
		t.Fatal("wrong evaluation")
	}
}

func TestClosedForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "n")
		r := point(t, n)
		hi := rapid.IntRange(0, 1<<n).Draw(t, "hi")
		lo := rapid.IntRange(0, hi).Draw(t, "lo")
		one := func(int) field.QM31 { return field.One }
		index := func(i int) field.QM31 { return field.FromM31(field.M31(i)) }
		if MaskEval(r, uint64(hi)) != naiveSum(r, hi, one) {
			t.Fatalf("mask below %d", hi)
		}
		if RangeEval(r, uint64(lo), uint64(hi)) != naiveSum(r, hi, one).Sub(naiveSum(r, lo, one)) {
			t.Fatalf("range [%d,%d)", lo, hi)
		}
		if IndexMaskEval(r, uint64(hi)) != naiveSum(r, hi, index) {
			t.Fatalf("index below %d", hi)
		}
		if IndexRangeEval(r, uint64(lo), uint64(hi)) != naiveSum(r, hi, index).Sub(naiveSum(r, lo, index)) {
			t.Fatalf("index in [%d,%d)", lo, hi)
		}
	})
}

// TestIndexManyVariables checks that indices beyond p are reduced: the index
// table is linear, so on a Boolean point it is the index itself modulo p.
func TestIndexManyVariables(t *testing.T) {
	const n, at = 40, uint64(0xA5_1234_5678)
	r := make([]field.QM31, n)
	for j := range r {
		r[j] = field.FromM31(field.M31(at >> (n - 1 - j) & 1))
	}
	for _, c := range []struct {
		dim  uint64
		want field.QM31
	}{{1 << n, field.FromM31(field.Reduce64(at))}, {at + 1, field.FromM31(field.Reduce64(at))}, {at, field.Zero}} {
		if got := IndexMaskEval(r, c.dim); got != c.want {
			t.Errorf("index at %#x below %#x: %v, want %v", at, c.dim, got, c.want)
		}
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"eq":   func() { Eq(make([]field.QM31, 2), make([]field.QM31, 3)) },
		"eval": func() { Eval(make([]field.QM31, 5), make([]field.QM31, 2)) },
		"mask": func() { MaskEval(make([]field.QM31, 2), 5) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("mismatched lengths went unnoticed")
				}
			}()
			f()
		})
	}
}
