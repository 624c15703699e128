package poly

import (
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/field"
)

// EqRows are the weights Π_j eq(parts[j], i_j) of the entries of a shape, row-major
// as OuterEq lists them, but in rows: an entry's weight is its row's weight times
// one of a short table. It takes the memory of that table, however large the shape
// is.
type EqRows struct {
	shape []int
	parts [][]field.QM31
	// The last axes are in the table with the low variables of the axis before
	// them, if there is one: index i of that axis is in row i >> low.
	axis, low int
	unit      int // entries of the last axes
	table     []field.QM31
}

// rowEntries bounds the table: about the root of what it takes to make verifying slow,
// since a weight that is in no table takes a few multiplications.
const rowEntries = 1 << 9

// NewEqRows returns the weights of a shape at a point in parts, one an axis.
func NewEqRows(shape []int, parts [][]field.QM31) *EqRows {
	e := &EqRows{shape: shape, parts: parts, axis: len(shape), unit: 1}
	for e.axis > 0 && e.unit*shape[e.axis-1] <= rowEntries {
		e.axis--
		e.unit *= shape[e.axis]
	}
	e.table = OuterEq(shape[e.axis:], parts[e.axis:])
	if e.axis > 0 {
		e.axis--
		e.low = bits.Len(uint(rowEntries/e.unit)) - 1
		split := parts[e.axis]
		e.table = Outer(EqTable(split[len(split)-e.low:]), e.table)
	} else {
		e.axis = -1
	}
	return e
}

// Rows calls f for every piece of [lo, hi) that lies in one row, with the row's
// weight and the weights inside it, one for each entry of the piece.
func (e *EqRows) Rows(lo, hi int, f func(from, to int, weight field.QM31, inner []field.QM31)) {
	if e.axis < 0 {
		if lo < hi {
			f(lo, hi, field.One, e.table[lo:hi])
		}
		return
	}
	d, split := e.shape[e.axis], e.parts[e.axis]
	for from := lo; from < hi; {
		lead, i := from/e.unit/d, from/e.unit%d
		row := i >> e.low
		first := (lead*d + row<<e.low) * e.unit
		to := min(hi, (lead*d+min((row+1)<<e.low, d))*e.unit)
		weight := EqIndex(split[:len(split)-e.low], uint64(row))
		for a := e.axis - 1; a >= 0; a-- {
			weight = weight.Mul(EqIndex(e.parts[a], uint64(lead%e.shape[a])))
			lead /= e.shape[a]
		}
		f(from, to, weight, e.table[from-first:to-first])
		from = to
	}
}
