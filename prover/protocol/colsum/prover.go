package colsum

import (
	"context"
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Columns are the passes over the integers of steps, key + β·out, as matrices. A
// backend.Backend has them.
type Columns interface {
	RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error)
	ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error)
}

// perTask is the least number of entries of tables worth a goroutine.
const perTask = 1 << 11

// Prove proves the sum over those steps of l that are cut into several blocks, at least one, for a
// tree that ends at z. The claim must follow from what has been absorbed. An error comes from the
// passes; what was written by then is not a proof. With a false claim, the value at the end is not
// that of the columns.
func Prove(ctx context.Context, w *transcript.Writer, g *model.Graph, l *backend.Leaves, z []field.QM31, claim field.QM31, c Columns) (_ End, err error) {
	defer must.Catch(&err)
	point := make([]field.QM31, Vars(g, l))
	sums := must.Get(newSums(ctx, g, l, z, c, len(point)))
	waiting := field.One // Π (1 − r_j) over the rounds so far: the factor of steps that have not joined
	for round := range point {
		zero, top := field.Zero, field.Zero
		for _, s := range sums {
			if s.fromRow > round {
				zero = zero.Add(waiting.Mul(s.claim))
				continue
			} else if s.fromRow == round {
				s.scale = waiting
			}
			zero, top = zero.Add(s.scale.Mul(s.zero)), top.Add(s.scale.Mul(s.top))
		}
		w.SendQM31(zero, top)
		r := w.Challenge()
		point[round], claim = r, field.RoundValue(zero, top, claim, r)
		waiting = waiting.Mul(field.One.Sub(r))
		must.OK(advance(ctx, sums, round+1, point, c))
	}
	return End{point, transcript.Known(claim)}, nil
}

// Dry makes the calls of c that Prove makes, for a c that only counts its memory. It draws a point from the transcript, writes
// nothing to it, and leaves out what Prove computes outside of c.
func Dry(ctx context.Context, w *transcript.Writer, g *model.Graph, l *backend.Leaves, z []field.QM31, c Columns) (_ End, err error) {
	defer must.Catch(&err)
	point := w.Challenges(Vars(g, l))
	sums, jobs := sumsOf(g, l, z, len(point))
	must.Get(c.RowSums(ctx, jobs))
	for round := range point {
		if _, jobs := columnSums(sums, round, point); len(jobs) > 0 {
			must.Get(c.ColumnSums(ctx, jobs))
		}
	}
	return End{point, transcript.Known(field.Zero)}, nil
}

// sumsOf returns the sums over all steps that are cut, for a proof of the given number of rounds, and for each the pass over the
// step's integers that it begins with.
func sumsOf(g *model.Graph, l *backend.Leaves, z []field.QM31, rounds int) ([]*sum, []backend.RowSum) {
	var steps []*backend.LeafStep
	var layouts []*layout // by element of steps
	byShape := map[string]*layout{}
	for i := range l.Steps {
		if !l.Steps[i].IsCut() {
			continue
		}
		shape := g.Steps[l.Steps[i].Step].Shape
		key := fmt.Sprint(shape)
		own := byShape[key]
		if own == nil {
			own = newLayout(shape, z)
			own.fromRow = rounds - own.vars
			own.fromCol = own.fromRow + own.rowVars
			byShape[key] = own
		}
		steps, layouts = append(steps, &l.Steps[i]), append(layouts, own)
	}
	sums, jobs := make([]*sum, len(steps)), make([]backend.RowSum, len(steps))
	parallel.For(len(sums), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[i] = newSum(layouts[i], steps[i], z, l.Beta)
			jobs[i] = sums[i].rowSum()
		}
	})
	return sums, jobs
}

// newSums returns the sums over all steps that are cut, ready for round 0.
func newSums(ctx context.Context, g *model.Graph, l *backend.Leaves, z []field.QM31, c Columns, rounds int) ([]*sum, error) {
	sums, jobs := sumsOf(g, l, z, rounds)
	results, err := c.RowSums(ctx, jobs)
	if err != nil {
		return nil, err
	}
	parallel.For(len(sums), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[i].overRows(results[i])
		}
	})
	return sums, advance(ctx, sums, 0, nil, c)
}

// advance prepares round number `round`: it binds the variable of the round before, has sums whose
// row variables are all bound go on with their columns, and computes what the round sends. point
// has the challenges of the rounds before.
func advance(ctx context.Context, sums []*sum, round int, point []field.QM31, c Columns) error {
	// each calls f for the sums that have joined, on all cores if their tables are large.
	each := func(f func(s *sum)) {
		n := 0
		for _, s := range sums {
			if s.fromRow <= round {
				n += s.entries()
			}
		}
		parallel.For(len(sums), max(1, perTask*len(sums)/max(n, 1)), func(lo, hi int) {
			for _, s := range sums[lo:hi] {
				if s.fromRow <= round {
					f(s)
				}
			}
		})
	}
	ready, jobs := columnSums(sums, round, point)
	each(func(s *sum) {
		if s.fromRow < round {
			s.fold(point[round-1])
		}
		if round < s.fromRow+s.vars && (round != s.fromCol || s.rowVars == s.vars) {
			s.sums()
		}
	})
	if len(ready) == 0 {
		return nil
	}
	results, err := c.ColumnSums(ctx, jobs)
	if err != nil {
		return err
	}
	parallel.For(len(ready), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			ready[i].overColumns(results[i])
			ready[i].sums()
		}
	})
	return nil
}

// columnSums returns the sums whose rounds over columns begin with this round, and for each the pass over the step's integers that
// it needs for them.
func columnSums(sums []*sum, round int, point []field.QM31) (ready []*sum, jobs []backend.ColumnSum) {
	for _, s := range sums {
		if round == s.fromCol && s.rowVars < s.vars {
			s.bind(point[s.fromRow:round])
			ready, jobs = append(ready, s), append(jobs, s.columnSum())
		}
	}
	return ready, jobs
}
