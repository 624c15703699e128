// Package attack computes, by linear algebra alone, what the columns that proofs open tell about the rows of a key's weights.
// That is exactly what can be known about the rows from the columns.
//
// A row of 2^n values with a tail of t random elements is opened at positions of its code. The value at a position is a known
// linear form of the row's values and of its tail (docs/protocol.md, "Hiding openings"). Linear combinations of these forms in
// which the tail does not occur are what the positions together tell about the values.
package attack

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Rows describes the rows under a root: each has 2^Vars values and a tail of Tail elements.
type Rows struct{ Vars, Tail int }

// logDomain is log2 of the number of positions of a row's code.
func (r Rows) logDomain() int { return r.Vars + 2 }

// form returns the coefficients of the linear form that a position opens: those of the values, then those of the tail.
func (r Rows) form(position uint64) []field.M31 {
	z := code.NewDomain(r.logDomain()).Point(position)
	all := code.WeightTable(code.PointWeights(field.FromM31(z), r.Vars+1))[:1<<r.Vars+r.Tail]
	return seq.Map(all, func(w field.QM31) field.M31 { return w.Limbs()[0] })
}

// Leak returns how many independent linear relations of a row's values are told by opening these positions; repeated
// positions count once. It is the rank of all forms less the rank of their parts on the tail.
func (r Rows) Leak(positions []uint64) int {
	positions = distinct(positions)
	all, tails := make([][]field.M31, len(positions)), make([][]field.M31, len(positions))
	parallel.For(len(positions), 8, func(from, to int) {
		for i := from; i < to; i++ {
			all[i] = r.form(positions[i])
			tails[i] = slices.Clone(all[i][1<<r.Vars:])
		}
	})
	return eliminate(all, 1<<r.Vars+r.Tail) - eliminate(tails, r.Tail)
}

// distinct returns the sorted positions without repetitions.
func distinct(positions []uint64) []uint64 {
	sorted := slices.Clone(positions)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// ErrUnknown says that the opened columns do not determine the rows.
var ErrUnknown = errors.New("the rows are not determined")

// Solve returns the values and tails of all rows. columns has, by position, the opened value of every row. The rows are
// determined if there are at least as many positions as a row has values and tail elements.
func (r Rows) Solve(columns map[uint64][]field.M31) ([][]field.M31, error) {
	var positions []uint64
	for at := range columns {
		positions = append(positions, at)
	}
	slices.Sort(positions)
	unknown := 1<<r.Vars + r.Tail
	if len(positions) < unknown {
		return nil, ErrUnknown
	}
	system := make([][]field.M31, unknown)
	parallel.For(unknown, 8, func(from, to int) {
		for i := from; i < to; i++ {
			system[i] = append(r.form(positions[i]), columns[positions[i]]...)
		}
	})
	if eliminate(system, unknown) < unknown {
		return nil, ErrUnknown
	}
	rows := make([][]field.M31, len(system[0])-unknown)
	for k := range rows {
		for i := range unknown {
			rows[k] = append(rows[k], system[i][unknown+k])
		}
	}
	return rows, nil
}

// Holds says whether rows, given with their tails, have the given column at a position.
func (r Rows) Holds(rows [][]field.M31, position uint64, column []field.M31) bool {
	form := r.form(position)
	for k, row := range rows {
		sum := field.M31(0)
		for i, v := range row {
			sum = sum.Add(v.Mul(form[i]))
		}
		if sum != column[k] {
			return false
		}
	}
	return true
}

// eliminate brings the first columns of a matrix into reduced row echelon form, and returns their rank.
func eliminate(m [][]field.M31, columns int) (rank int) {
	for c := range columns {
		pivot := slices.IndexFunc(m[rank:], func(row []field.M31) bool { return row[c] != 0 })
		if pivot < 0 {
			continue
		}
		m[rank], m[rank+pivot] = m[rank+pivot], m[rank]
		own := m[rank]
		inverse := own[c].Inv()
		field.ScaleVec(own[c:], own[c:], inverse)
		parallel.For(len(m), 16, func(from, to int) {
			multiple := make([]field.M31, len(own)-c)
			for k := from; k < to; k++ {
				if f := m[k][c]; k != rank && f != 0 {
					field.ScaleVec(multiple, own[c:], f)
					field.SubVec(m[k][c:], m[k][c:], multiple)
				}
			}
		})
		if rank++; rank == len(m) {
			break
		}
	}
	return rank
}
