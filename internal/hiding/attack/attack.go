// Package attack computes what columns that proofs open tell of the rows of a key's weights, by linear algebra alone: all that
// can be known of them from these, exactly.
//
// A row of 2^n values with a tail of t random elements is opened at positions of its code. What is opened at one is a known
// linear form of the values and of the tail (docs/protocol.md, "Hiding openings"). Forms in which the tail does not occur are
// what the positions together tell of the values.
package attack

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Rows are the rows under a root, 2^Vars values and a tail of so many elements each.
type Rows struct{ Vars, Tail int }

// logDomain is log2 of the number of positions.
func (r Rows) logDomain() int { return r.Vars + 2 }

// form returns the coefficients with which the values, and behind them the tail, make what is opened at a position.
func (r Rows) form(position uint64) []field.M31 {
	z := code.NewDomain(r.logDomain()).Point(position)
	all := code.WeightTable(code.PointWeights(field.FromM31(z), r.Vars+1))[:1<<r.Vars+r.Tail]
	return seq.Map(all, func(w field.QM31) field.M31 { return w.Limbs()[0] })
}

// Leak returns how many independent linear relations of a row's values what is opened at these positions tells, each position
// counting once: the rank of all forms less that of their parts on the tail.
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

func distinct(positions []uint64) []uint64 {
	sorted := slices.Clone(positions)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// ErrUnknown says that what is opened does not determine the rows.
var ErrUnknown = errors.New("the rows are not determined")

// Solve returns the values and tails of all rows from columns: what of every row is opened at a position. They are determined by
// as many positions as there are of both.
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

// Holds says whether rows with their tails give a column at a position.
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

// eliminate brings a matrix's first columns into reduced echelon form, and returns their rank.
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
