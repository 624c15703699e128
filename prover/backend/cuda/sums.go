package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/sumcheck"
)

// table is a backend.Table: 2^vars elements of K on the device.
type table struct {
	at   kernels.Ptr
	vars int
}

func (t *Tensor) integers() kernels.Integers { return kernels.Integers{At: t.Ptr, Width: t.Width} }

// Eval implements backend.Backend.
func (b *Backend) Eval(ctx context.Context, id model.TensorID, point []field.QM31) (field.QM31, error) {
	return pass(ctx, func() field.QM31 { return b.eval(id, point) })
}

func (b *Backend) eval(id model.TensorID, point []field.QM31) field.QM31 {
	shape := b.g.Tensors[id].Shape
	bound := make([][]field.QM31, len(shape))
	for a, d := range shape {
		v := model.Log2Ceil(d)
		bound[a], point = append([]field.QM31{}, point[:v]...), point[v:]
	}
	t := b.restrict(backend.Restriction{Tensor: id, Bound: bound})
	v := fetch[field.QM31](b.dev, t.at, 1)
	b.dev.Free(t.at)
	return v[0]
}

// Restrict implements backend.Backend.
func (b *Backend) Restrict(ctx context.Context, r backend.Restriction) (backend.Table, error) {
	return pass(ctx, func() backend.Table { return b.restrict(r) })
}

// Upload implements backend.Backend.
func (b *Backend) Upload(ctx context.Context, values []field.QM31) (backend.Table, error) {
	return pass(ctx, func() backend.Table { return table{newCopy(b.dev, values), model.Log2Ceil(len(values))} })
}

// Download implements backend.Backend.
func (b *Backend) Download(ctx context.Context, t backend.Table) ([]field.QM31, error) {
	x := t.(table)
	return pass(ctx, func() []field.QM31 { return fetch[field.QM31](b.dev, x.at, 1<<x.vars) })
}

// Inner implements backend.Backend.
func (b *Backend) Inner(ctx context.Context, eq []field.QM31, x, y backend.Table) (field.QM31, error) {
	return pass(ctx, func() field.QM31 { return inner(sums{b.dev, b.mailbox()}, eq, x.(table), y.(table)) })
}

func inner(to sums, eq []field.QM31, a, b table) field.QM31 {
	dev := to.dev
	var heaps *kernels.EqHeaps
	if len(eq) > 0 {
		var err error
		heaps, err = kernels.NewEqHeaps(dev, eq)
		check(err)
	}
	p := newWords(dev, sumsWords(2*kernels.SumWords))
	v := to.read(p, kernels.SumWords, func(post kernels.Post) error {
		return kernels.SumcheckInner(dev, p, a.at, b.at, a.vars, heaps, post)
	})
	dev.Free(p)
	heaps.Free(dev)
	return kernels.FromSum(v)
}

// Sums implements backend.Backend.
func (b *Backend) Sums(ctx context.Context, instances []backend.Instance) (_ sumcheck.Tables, err error) {
	insts := make([]sumcheckInstance, len(instances))
	for i, in := range instances {
		x, y := in.A.(table), in.B.(table)
		insts[i] = sumcheckInstance{a: x.at, b: y.at, vars: x.vars, eq: in.Eq}
	}
	a := newScope(b.dev)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	return pass(ctx, func() sumcheck.Tables { return newBatch(a, b.mailbox(), insts) })
}
