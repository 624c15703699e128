package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/sumcheck"
	"github.com/prove-model/prove-model/prover/transcript"
)

// table is a backend.Table: 2^vars elements of K on the device.
type table struct {
	at   kernels.Ptr
	vars int
}

func (t *Tensor) integers() kernels.Integers { return kernels.Integers{At: t.Ptr, Width: t.Width} }

// Eval implements backend.Backend.
func (b *Backend) Eval(id model.TensorID, point []field.QM31) field.QM31 {
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
func (b *Backend) Restrict(r backend.Restriction) backend.Table {
	return b.restrict(r)
}

// Upload implements backend.Backend.
func (b *Backend) Upload(values []field.QM31) backend.Table {
	return table{newCopy(b.dev, values), model.Log2Ceil(len(values))}
}

// Download implements backend.Backend.
func (b *Backend) Download(t backend.Table) []field.QM31 {
	x := t.(table)
	return fetch[field.QM31](b.dev, x.at, 1<<x.vars)
}

// Inner implements backend.Backend.
func (b *Backend) Inner(eq []field.QM31, x, y backend.Table) field.QM31 {
	return inner(b.sums(), eq, x.(table), y.(table))
}

func inner(to sums, eq []field.QM31, a, b table) field.QM31 {
	dev := to.dev
	var heaps *kernels.EqHeaps
	if len(eq) > 0 {
		var err error
		heaps, err = kernels.NewEqHeaps(dev, eq)
		backend.Check(err)
	}
	p := newWords(dev, sumsWords(2*kernels.SumWords))
	v := to.read(p, kernels.SumWords, func(post kernels.Post) error {
		return kernels.SumcheckInner(dev, p, a.at, b.at, a.vars, heaps, post)
	})
	dev.Free(p)
	heaps.Free(dev)
	return kernels.FromSum(v)
}

// Sumcheck implements backend.Backend.
func (b *Backend) Sumcheck(w *transcript.Writer, instances []backend.Instance) []sumcheck.Final {
	if len(instances) == 0 {
		return nil
	}
	insts, shapes := make([]sumcheckInstance, len(instances)), make([]sumcheck.Shape, len(instances))
	for i, in := range instances {
		x, y := in.A.(table), in.B.(table)
		insts[i] = sumcheckInstance{a: x.at, b: y.at, vars: x.vars, eq: in.Eq}
		shapes[i] = sumcheck.Shape{Claim: in.Claim, NumVars: x.vars, Eq: in.Eq}
	}
	t := newBatch(b.sums(), insts)
	finals := sumcheck.ProveTables(w, shapes, t)
	t.free()
	return finals
}
