package cpu

import (
	"context"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// matrix is the column key + beta·out of a look-up step, viewed as a matrix of so many rows and columns. Keys and outs
// are kept as integers.
type matrix struct {
	keys, outs    []int32 // outs is nil if the look-up has no values
	rows, columns int
	beta          field.QM31
}

// matrix returns the matrix of a job.
func (b *Backend) matrix(c *backend.Column) *matrix {
	m := &matrix{keys: b.w.StepKeys(c.Step), rows: c.Rows, beta: c.Beta}
	m.columns = len(m.keys) / m.rows
	if st := &b.g.Steps[c.Step]; st.Out != model.None {
		m.outs = b.w.Tensor(st.Out)
	}
	return m
}

// RowSums implements backend.Backend.
func (b *Backend) RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	results := make([][]field.QM31, len(jobs))
	each(ctx, len(jobs), func(i int) { results[i] = b.matrix(&jobs[i].Column).rowSums(&jobs[i]) })
	return results, ctx.Err()
}

// A span is n adjacent columns, from column `from` on, which are also adjacent in a job's order, from place `to` on.
type span struct{ from, to, n int }

// spans divides a job's order of columns into spans.
func spans(order []int) []span {
	var list []span
	for to := 0; to < len(order); {
		n := 1
		for to+n < len(order) && order[to+n] == order[to]+n {
			n++
		}
		list = append(list, span{order[to], to, n})
		to += n
	}
	return list
}

// rowSums returns the weighted sums over the parts of each row (backend.RowSum).
func (m *matrix) rowSums(job *backend.RowSum) []field.QM31 {
	list, parts := spans(job.Order), len(job.Ends)
	sums := make([]field.QM31, m.rows*parts)
	parallel.For(m.rows, max(1, (1<<12)/m.columns), func(lo, hi int) {
		row := make([]int32, m.columns)
		for x := lo; x < hi; x++ {
			own := sums[x*parts : (x+1)*parts]
			add := func(values []int32, scale field.QM31) {
				for _, s := range list {
					copy(row[s.to:s.to+s.n], values[s.from:s.from+s.n])
				}
				from := 0
				for part, end := range job.Ends {
					own[part] = own[part].Add(scale.Mul(field.DotInt32(row[from:end], job.Weights[from:end])))
					from = end
				}
			}
			add(m.keys[x*m.columns:(x+1)*m.columns], field.One)
			if m.outs != nil {
				add(m.outs[x*m.columns:(x+1)*m.columns], m.beta)
			}
		}
	})
	return sums
}

// ColumnSums implements backend.Backend.
func (b *Backend) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	results := make([][]field.QM31, len(jobs))
	each(ctx, len(jobs), func(i int) { results[i] = b.matrix(&jobs[i].Column).columnSums(jobs[i].Weights) })
	return results, ctx.Err()
}

// columnSums returns the weighted sum of the rows. A wide matrix is divided by columns, a narrow one by rows, with sums that are added up.
func (m *matrix) columnSums(weights []field.QM31) []field.QM31 {
	sums := make([]field.QM31, m.columns)
	if m.columns >= 4*restrictColumns {
		parallel.For(m.columns, restrictColumns, func(lo, hi int) {
			// In pieces, so that the sums stay in the first-level cache.
			for from := lo; from < hi; from += restrictColumns {
				to := min(from+restrictColumns, hi)
				m.addRows(sums[from:to], from, 0, weights)
			}
		})
		return sums
	}
	parallel.Collect(m.rows, max(1, (1<<13)/m.columns), func(lo, hi int) func() {
		own := make([]field.QM31, m.columns)
		m.addRows(own, 0, lo, weights[lo:hi])
		return func() { field.AddQM31Vec(sums, sums, own) }
	})
	return sums
}

// addRows adds rows, from row `first` on, times their weights to sums, which are of the
// columns from column `from` on.
func (m *matrix) addRows(sums []field.QM31, from, first int, weights []field.QM31) {
	for i, w := range weights {
		at := (first+i)*m.columns + from
		field.MulAccInt32Vec(sums, m.keys[at:at+len(sums)], w)
		if m.outs != nil {
			field.MulAccInt32Vec(sums, m.outs[at:at+len(sums)], w.Mul(m.beta))
		}
	}
}
