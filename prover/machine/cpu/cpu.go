// Package cpu is the reference backend: plain Go on all cores, with the
// vectorised functions of package field.
package cpu

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// Backend runs on the CPU. It is safe for concurrent use if its witness is.
type Backend struct {
	g *model.Graph
	w backend.Witness
	a *arena.Arena // owns the tables
}

// New returns a backend for one witness of g.
func New(g *model.Graph, w backend.Witness) *Backend {
	return &Backend{g: g, w: w, a: new(arena.Arena)}
}

var (
	_ backend.Parallel = (*Backend)(nil)
	_ backend.Holder   = (*Backend)(nil)
)

// Worker implements backend.Parallel. The worker's arena is a part of this backend's (arena.Arena.Sub).
func (b *Backend) Worker(int) (backend.Backend, error) {
	return &Backend{g: b.g, w: b.w, a: b.a.Sub()}, nil
}

// Eval implements backend.Backend.
func (b *Backend) Eval(ctx context.Context, list []backend.Evaluation) ([]field.QM31, error) {
	values := make([]field.QM31, len(list))
	each(ctx, len(list), func(i int) {
		x := &list[i]
		values[i] = poly.EvalInts(b.g.Tensors[x.Tensor].Shape, backend.Values(b.g, b.w, x.Tensor), x.Point)
	})
	return values, ctx.Err()
}

// Total implements backend.Backend.
func (b *Backend) Total(ctx context.Context, id model.TensorID, of []model.Rows) (field.M31, error) {
	values := ints.All(backend.Values(b.g, b.w, id))
	var total int64 // does not overflow: fewer than 2^32 numbers of 32 bits are added
	for _, r := range of {
		for _, v := range values[r.From:r.To] {
			total += int64(v)
		}
	}
	return field.FromInt64(total), ctx.Err()
}

// Restrict implements backend.Backend.
func (b *Backend) Restrict(ctx context.Context, list []backend.Restriction) ([]backend.Table, error) {
	tables := make([]backend.Table, len(list))
	for i, r := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t := &b.g.Tensors[r.Tensor]
		if p := t.Product; p != nil {
			of := func(id model.TensorID, labels []int) factor {
				return factor{backend.Values(b.g, b.w, id), b.g.Tensors[id].Shape, labels}
			}
			tables[i] = restrictProduct(b.a, t.Shape, of(p.A, p.LabelsA), of(p.B, p.LabelsB), r)
			continue
		}
		tables[i] = restrict(b.a, t.Shape, backend.Values(b.g, b.w, r.Tensor), r)
	}
	return tables, nil
}

// Upload implements backend.Backend. The table is t itself, not a copy.
func (b *Backend) Upload(ctx context.Context, t []field.QM31) (backend.Table, error) {
	return t, ctx.Err()
}

// Download implements backend.Backend.
func (b *Backend) Download(ctx context.Context, t backend.Table) ([]field.QM31, error) {
	return slices.Clone(t.([]field.QM31)), ctx.Err()
}

// Held implements backend.Holder.
func (b *Backend) Held(t backend.Table) []field.QM31 { return t.([]field.QM31) }

// Copy implements backend.Backend.
func (b *Backend) Copy(ctx context.Context, t backend.Table) (backend.Table, error) {
	return slices.Clone(t.([]field.QM31)), ctx.Err()
}

// Close implements backend.Backend.
func (b *Backend) Close() { b.a.Close() }

// Inner implements backend.Backend.
func (b *Backend) Inner(ctx context.Context, list []backend.Instance) ([]field.QM31, error) {
	values := make([]field.QM31, len(list))
	each(ctx, len(list), func(i int) {
		in := &list[i]
		values[i] = inner(in.Eq, in.A.([]field.QM31), in.B.([]field.QM31))
	})
	return values, ctx.Err()
}

// each calls f for the numbers below n, several at a time, as one job is often too small for all
// cores. It stops early when the context ends, so the caller must check that.
func each(ctx context.Context, n int, f func(i int)) {
	parallel.For(n, 1, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			f(i)
		}
	})
}

// inner returns Σ eq(i)·x[i]·y[i], where eq is over the first variables of the index.
func inner(eq, x, y []field.QM31) field.QM31 {
	e := poly.EqTable(eq)
	run := len(x) / len(e) // entries that share an eq weight
	// One partial sum for each entry of the eq table. Field addition is exact, so the result does not depend on the split.
	sums := make([]field.QM31, len(e))
	parallel.For(len(e), max(1, (1<<13)/run), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[i] = field.Dot(x[i*run:(i+1)*run], y[i*run:(i+1)*run])
		}
	})
	return field.Dot(sums, e)
}

// Sums implements backend.Backend.
func (b *Backend) Sums(ctx context.Context, instances []backend.Instance) (sumcheck.Tables, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in := make([]sumcheck.Instance, len(instances))
	for i, x := range instances {
		in[i] = sumcheck.Instance{Eq: x.Eq, A: x.A.([]field.QM31), B: x.B.([]field.QM31)}
	}
	return sumcheck.NewTablesIn(b.a, in), nil
}

// Fractions implements backend.Backend.
func (b *Backend) Fractions(ctx context.Context, l backend.Leaves) (logup.Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	num, den := b.leaves(l)
	return logup.NewTreeIn(b.a, num, den), nil
}
