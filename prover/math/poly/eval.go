package poly

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Eval returns t~(r) for a table over K with len(t) ≤ 2^len(r).
func Eval(t []field.QM31, r []field.QM31) field.QM31 { return eval(t, r, field.Dot) }

// EvalM31 returns t~(r) for a table over the base field with len(t) ≤ 2^len(r).
func EvalM31(t []field.M31, r []field.QM31) field.QM31 { return eval(t, r, field.DotM31) }

// EvalInt32 returns t~(r) for a table of signed integers, |t[i]| < 2^31, with
// len(t) ≤ 2^len(r).
func EvalInt32(t []int32, r []field.QM31) field.QM31 { return eval(t, r, field.DotInt32) }

// entriesPerTask is the least number of entries that one goroutine handles, so that small
// tables are evaluated on the calling goroutine.
const entriesPerTask = 1 << 13

// eval cuts the table into rows of 2^lo entries. Every row's dot product with
// eq(r_lo, ·) is one entry of the sum with eq(r_hi, ·), so two tables of about
// √N entries replace one of N.
func eval[T any](t []T, r []field.QM31, dot func([]T, []field.QM31) field.QM31) field.QM31 {
	if len(r) < 63 && len(t) > 1<<len(r) {
		panic(fmt.Sprintf("poly: a table of %d entries at a point of %d coordinates", len(t), len(r)))
	}
	// If the table is zero wherever a leading variable is 1, that variable only contributes the factor 1 − r_0.
	scale := field.One
	for len(r) > 0 && len(t) <= 1<<(len(r)-1) {
		scale = scale.Mul(field.One.Sub(r[0]))
		r = r[1:]
	}
	lo := (len(r) + 1) / 2
	rows := (len(t) + 1<<lo - 1) >> lo
	wlo := EqTable(r[len(r)-lo:])
	sums := make([]field.QM31, rows)
	parallel.For(rows, max(1, entriesPerTask>>lo), func(a, b int) {
		for i := a; i < b; i++ {
			row := t[i<<lo : min((i+1)<<lo, len(t))]
			sums[i] = dot(row, wlo[:len(row)])
		}
	})
	whi := EqTable(r[:len(r)-lo])
	return field.Dot(sums, whi[:rows]).Mul(scale)
}
