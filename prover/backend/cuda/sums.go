package cuda

import (
	"context"
	"errors"

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
func (b *Backend) Eval(ctx context.Context, list []backend.Evaluation) ([]field.QM31, error) {
	return pass(ctx, func() []field.QM31 {
		values := make([]field.QM31, len(list))
		var jobs []kernels.Evaluation
		var numbers []int
		for i, x := range list {
			shape := b.g.Tensors[x.Tensor].Shape
			t, err := b.find(x.Tensor)
			if errors.Is(err, kernels.ErrMemory) {
				values[i] = b.evalPieces(shape, x)
				continue
			}
			check(err)
			jobs, numbers = append(jobs, kernels.Evaluation{Values: t.integers(), Shape: shape, Point: x.Point}), append(numbers, i)
		}
		for i, v := range evaluate(sums{b.dev, b.mailbox()}, jobs) {
			values[numbers[i]] = v
		}
		return values
	})
}

// mostEvals is how many evaluations are made in one launch.
const mostEvals = 1 << 8

// evaluate makes evaluations, some at a time.
func evaluate(to sums, jobs []kernels.Evaluation) []field.QM31 {
	values := make([]field.QM31, 0, len(jobs))
	for len(jobs) > 0 {
		n := min(len(jobs), mostEvals)
		words := evaluateSome(newScope(to.dev), to.box, jobs[:n])
		for i := range n {
			values = append(values, kernels.FromSum(words[kernels.SumWords*i:]))
		}
		jobs = jobs[n:]
	}
	return values
}

// evaluateSome returns the words of at least one evaluation, and closes the scope.
func evaluateSome(a *scope, box kernels.Mailbox, jobs []kernels.Evaluation) []uint64 {
	defer a.close()
	e, err := kernels.NewEvaluations(a, jobs)
	check(err)
	words := kernels.SumWords * len(jobs)
	p := newWords(a, sumsWords(words))
	return sums{a, box}.read(p, words, func(post kernels.Post) error { return e.Run(a, p, post) })
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
