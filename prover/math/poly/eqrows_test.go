package poly

import (
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"pgregory.net/rapid"
)

// TestEqRows compares the rows with the whole table, for shapes of one row and of
// many, and ranges that begin and end anywhere.
func TestEqRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := make([]int, rapid.IntRange(0, 4).Draw(t, "rank"))
		n := 1
		var parts [][]field.QM31
		for i := range shape {
			most := 1 << 15 / n
			shape[i] = rapid.OneOf(rapid.IntRange(1, min(most, 5)), rapid.IntRange(1, most)).Draw(t, "dim")
			n *= shape[i]
			parts = append(parts, point(t, axisVars(shape[i])))
		}
		want := OuterEq(shape, parts)
		lo := rapid.IntRange(0, n).Draw(t, "lo")
		hi := rapid.IntRange(lo, n).Draw(t, "hi")
		at := lo
		NewEqRows(shape, parts).Rows(lo, hi, func(from, to int, weight field.QM31, inner []field.QM31) {
			if from != at || to <= from || len(inner) != to-from {
				t.Fatalf("piece [%d,%d) with %d weights after %d", from, to, len(inner), at)
			}
			for k, w := range inner {
				if weight.Mul(w) != want[from+k] {
					t.Fatalf("entry %d of %v", from+k, shape)
				}
			}
			at = to
		})
		if at != hi {
			t.Fatalf("rows end at %d of %d", at, hi)
		}
	})
}
