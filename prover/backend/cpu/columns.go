package cpu

import (
	"context"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
)

// matrix is the column key + beta·out of a look-up step, in integers.
type matrix struct {
	keys, outs    []int32 // outs is nil if there are none
	rows, columns int
	beta          field.QM31
}

func (b *Backend) matrix(c *backend.Column) *matrix {
	st := &b.g.Steps[c.Step]
	m := &matrix{keys: b.w.StepKeys(c.Step), rows: model.Size(st.Shape[:c.Split]), columns: model.Size(st.Shape[c.Split:]), beta: c.Beta}
	if st.Out != model.None {
		m.outs = b.w.Tensor(st.Out)
	}
	return m
}

// RowSums implements backend.Backend.
func (b *Backend) RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	results := make([][]field.QM31, len(jobs))
	for i := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		results[i] = b.matrix(&jobs[i].Column).rowSums(&jobs[i])
	}
	return results, nil
}

// A span is columns that lie next to each other, with their weights.
type span struct {
	part, from int
	weights    []field.QM31
}

// spans cuts a job's columns where they do not lie next to each other.
func spans(job *backend.RowSum) []span {
	var list []span
	at := 0
	for part, end := range job.Ends {
		for at < end {
			n := 1
			for at+n < end && job.Order[at+n] == job.Order[at]+n {
				n++
			}
			list = append(list, span{part, job.Order[at], job.Weights[at : at+n]})
			at += n
		}
	}
	return list
}

func (m *matrix) rowSums(job *backend.RowSum) []field.QM31 {
	list, parts := spans(job), len(job.Ends)
	sums := make([]field.QM31, m.rows*parts)
	parallel.For(m.rows, max(1, (1<<12)/m.columns), func(lo, hi int) {
		for x := lo; x < hi; x++ {
			own := sums[x*parts : (x+1)*parts]
			for i := range list {
				s := &list[i]
				at := x*m.columns + s.from
				v := field.DotInt32(m.keys[at:at+len(s.weights)], s.weights)
				if m.outs != nil {
					v = v.Add(m.beta.Mul(field.DotInt32(m.outs[at:at+len(s.weights)], s.weights)))
				}
				own[s.part] = own[s.part].Add(v)
			}
		}
	})
	return sums
}

// ColumnSums implements backend.Backend.
func (b *Backend) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	results := make([][]field.QM31, len(jobs))
	for i := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		results[i] = b.matrix(&jobs[i].Column).columnSums(jobs[i].Weights)
	}
	return results, nil
}

func (m *matrix) columnSums(weights []field.QM31) []field.QM31 {
	sums := make([]field.QM31, m.columns)
	parallel.For(m.columns, max(1, (1<<13)/m.rows), func(lo, hi int) {
		// In pieces, so that the sums stay in the first-level cache.
		for from := lo; from < hi; from += restrictColumns {
			to := min(from+restrictColumns, hi)
			for x, w := range weights {
				at := x * m.columns
				field.MulAccInt32Vec(sums[from:to], m.keys[at+from:at+to], w)
				if m.outs != nil {
					field.MulAccInt32Vec(sums[from:to], m.outs[at+from:at+to], w.Mul(m.beta))
				}
			}
		}
	})
	return sums
}
