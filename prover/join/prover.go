package join

import (
	"context"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/transcript"
)

// Columns are the passes over the columns of steps. A backend.Backend has them.
type Columns interface {
	RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error)
	ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error)
}

// sumsPerTask is how many steps' rounds are worth a goroutine.
const sumsPerTask = 4

// Prove proves the sum over the steps of l that are cut, at least one, for a tree
// that ends at z. The claim must follow from what has been absorbed. An error is one of the passes; what
// was written by then is no proof. A false claim gives a value that is not that of
// the columns.
func Prove(ctx context.Context, w *transcript.Writer, g *model.Graph, l *backend.Leaves, z []field.QM31, claim field.QM31, c Columns) (End, error) {
	sums, err := newSums(ctx, g, l, z, c)
	if err != nil {
		return End{}, err
	}
	point := make([]field.QM31, Vars(g, l))
	waiting := field.One // Π (1 − r_j) so far
	for round := range point {
		if err := toColumns(ctx, sums, round, point, c); err != nil {
			return End{}, err
		}
		zero, top := field.Zero, field.Zero
		for _, s := range sums {
			if joins := len(point) - s.vars; joins > round {
				zero = zero.Add(waiting.Mul(s.claim))
				continue
			} else if joins == round {
				s.scale = waiting
			}
			z, t := s.sums()
			zero, top = zero.Add(s.scale.Mul(z)), top.Add(s.scale.Mul(t))
		}
		w.SendQM31(zero, top)
		r := w.Challenge()
		point[round], claim = r, next(zero, top, claim, r)
		waiting = waiting.Mul(field.One.Sub(r))
		parallel.For(len(sums), sumsPerTask, func(lo, hi int) {
			for _, s := range sums[lo:hi] {
				if len(point)-s.vars <= round {
					s.fold(r)
				}
			}
		})
	}
	return End{point, claim}, nil
}

// newSums prepares the sums over the rows of all steps that are cut.
func newSums(ctx context.Context, g *model.Graph, l *backend.Leaves, z []field.QM31, c Columns) ([]*sum, error) {
	var steps []*backend.LeafStep
	for i := range l.Steps {
		if l.Steps[i].IsCut() {
			steps = append(steps, &l.Steps[i])
		}
	}
	sums, jobs := make([]*sum, len(steps)), make([]backend.RowSum, len(steps))
	parallel.For(len(sums), sumsPerTask, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[i] = newSum(steps[i], g.Steps[steps[i].Step].Shape, z, l.Beta)
			jobs[i] = sums[i].rowSum()
		}
	})
	results, err := c.RowSums(ctx, jobs)
	if err != nil {
		return nil, err
	}
	parallel.For(len(sums), sumsPerTask, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[i].overRows(results[i])
		}
	})
	return sums, nil
}

// toColumns moves the sums on of which the rows' variables are all bound, before a
// round. point has the challenges so far.
func toColumns(ctx context.Context, sums []*sum, round int, point []field.QM31, c Columns) error {
	var ready []*sum
	var jobs []backend.ColumnSum
	for _, s := range sums {
		joins := len(point) - s.vars
		if round == joins+s.rowVars && s.rowVars < s.vars {
			ready = append(ready, s)
			jobs = append(jobs, s.columnSum(point[joins:round]))
		}
	}
	if len(ready) == 0 {
		return nil
	}
	results, err := c.ColumnSums(ctx, jobs)
	for i, s := range ready {
		if err == nil {
			s.overColumns(results[i])
		}
	}
	return err
}
