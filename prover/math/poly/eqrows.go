package poly

import (
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/field"
)

// EqRows gives the weights Π_j eq(parts[j], i_j) of the entries of a shape, row-major
// as OuterEq lists them, but by rows: the weight of an entry is the weight of its row times
// an entry of a table that all rows share. Only that table is in memory, however large the shape
// is.
type EqRows struct {
	shape []int
	parts [][]field.QM31
	// The table covers the last axes, those behind axis, and the lowest low variables of axis itself, so that index i of axis is
	// in row i >> low. axis is −1 if the table covers all axes.
	axis, low int
	unit      int // the number of entries of the axes behind axis
	table     []field.QM31
}

// rowEntries bounds the entries of the table. A row's weight is computed anew for each row, with a few multiplications for each
// variable, so rows must not be short.
const rowEntries = 1 << 9

// NewEqRows returns the weights of a shape at a point, given in one part for each axis (SplitAxes).
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
// weight and the table's weights for the piece, one for each entry.
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
