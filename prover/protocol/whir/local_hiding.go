package whir

import (
	"context"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// Salts implements Passes.
func (l *local) Salts(ctx context.Context, tree int, positions []uint64) ([]hash.Digest, error) {
	p := &l.rows.trees[tree]
	if err := ctx.Err(); err != nil || !p.Salted() {
		return nil, err
	}
	salts := make([]hash.Digest, len(positions))
	for i, at := range positions {
		p.src.(HidingSource).FillSalts(at, salts[i:i+1])
	}
	return salts, nil
}

// Auxiliary implements Passes.
func (l *local) Auxiliary(ctx context.Context, n int) ([]field.M31, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	values, _ := l.rows.auxiliaryRow()
	return values[:n], nil
}

// AuxiliaryRound implements Passes.
func (l *local) AuxiliaryRound(ctx context.Context, u []field.QM31) (Sums, error) {
	if err := ctx.Err(); err != nil {
		return Sums{}, err
	}
	l.u = u
	values, _ := l.rows.auxiliaryRow()
	f, q := l.pair.F, l.pair.Q
	s := Sums{Zero: field.Dot(f, q)}
	// The leading coefficient is that of Σ (f + X·(A − f))·(q + X·(−u − q)), A being the auxiliary
	// row: Σ (f − A)·(q + u). own is Σ A·(q + u).
	own := field.DotM31(values, q).Add(field.DotM31(values[:len(u)], u))
	s.Top = s.Zero.Add(field.Dot(f[:len(u)], u)).Sub(own)
	return s, nil
}

// BindAuxiliary implements Passes.
func (l *local) BindAuxiliary(ctx context.Context, r field.QM31) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	values, tail := l.rows.auxiliaryRow()
	n := len(values)
	f, q := arena.Make[field.QM31](l.arena, 2*n), arena.Make[field.QM31](l.arena, 2*n)
	keep := field.One.Sub(r)
	clear(f)
	clear(q)
	field.MulAccQM31Vec(f[:n], l.pair.F, keep)
	field.MulAccVec(f[:n], values, r)
	field.MulAccQM31Vec(q[:n], l.pair.Q, keep)
	field.MulAccQM31Vec(q[:len(l.u)], l.u, r.Neg())
	tails := arena.Make[field.QM31](l.arena, n)
	clear(tails)
	l.rows.addTails(tails, poly.EqTable(l.point))
	field.MulAccQM31Vec(f[n:], tails, keep)
	field.MulAccVec(f[n:n+len(tail)], tail, r)
	arena.Free(l.arena, tails)
	arena.Free(l.arena, l.pair.F)
	arena.Free(l.arena, l.pair.Q)
	l.pair = Pair{f, q}
	return nil
}

// auxiliaryRow returns the values and the tail of the auxiliary row. It is made of rows of its
// tree in the way in which a table row is (layout.go).
func (s *stackRows) auxiliaryRow() (values, tail []field.M31) {
	p := s.auxiliary()
	g := p.Groups[len(p.Groups)-1]
	first := p.Rows() - g.Rows
	values, tail = make([]field.M31, 1<<s.rowVars), make([]field.M31, g.Tail<<p.shift)
	own, ints, ownTail := make([]field.M31, 1<<p.RowVars), make([]int32, 1<<p.RowVars), make([]field.M31, g.Tail)
	for l := range g.Rows {
		p.src.FillRow(first+l, 0, ints)
		field.FromInt32Vec(own, ints)
		p.src.(HidingSource).FillTail(first+l, ownTail)
		for c, v := range own {
			values[column(uint64(l), uint64(c), p.shift)] = v
		}
		for c, v := range ownTail {
			tail[column(uint64(l), uint64(c), p.shift)] = v
		}
	}
	return values, tail
}

// addTails adds to dst the tail of the row that the table's rows fold to with the weights.
func (s *stackRows) addTails(dst, weights []field.QM31) {
	for t := range s.trees {
		p := &s.trees[t]
		if !p.Salted() {
			continue
		}
		row := 0
		for _, g := range p.tableGroups() {
			first := row
			row += g.Rows
			parallel.Collect(g.Rows, 1, func(from, to int) func() {
				sums, tail := make([]field.QM31, g.Tail<<p.shift), make([]field.M31, g.Tail)
				for i := from; i < to; i++ {
					p.src.(HidingSource).FillTail(first+i, tail)
					u := g.First + uint64(i)
					w := weights[p.firstRow+u>>p.shift]
					if p.shift == 0 {
						field.MulAccVec(sums, tail, w)
						continue
					}
					for c, v := range tail {
						at := column(u, uint64(c), p.shift)
						sums[at] = sums[at].Add(w.MulM31(v))
					}
				}
				return func() { field.AddQM31Vec(dst[:len(sums)], dst[:len(sums)], sums) }
			})
		}
	}
}
