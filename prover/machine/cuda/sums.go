package cuda

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// Passes are the passes of a proof but those of commitments and openings: evaluations, restrictions,
// sumchecks and look-up trees. It implements that part of backend.Backend, for one goroutine at a time.
type Passes struct {
	*cpu.Backend // what is not for a device
	s            *Stream
}

// NewPasses returns the passes through a stream, which stays the caller's.
func NewPasses(s *Stream) *Passes { return &Passes{cpu.New(s.g, s.w), s} }

// table is a backend.Table: 2^vars elements of K on the device.
type table struct {
	at   kernels.Ptr
	vars int
}

// Eval implements backend.Backend.
func (b *Passes) Eval(ctx context.Context, list []backend.Evaluation) ([]field.QM31, error) {
	return pass(ctx, func() []field.QM31 {
		values := make([]field.QM31, len(list))
		var jobs []kernels.Evaluation
		var numbers []int
		for i, x := range list {
			shape := b.s.g.Tensors[x.Tensor].Shape
			t, err := b.s.find(x.Tensor)
			if errors.Is(err, kernels.ErrMemory) {
				values[i] = b.evalPieces(shape, x)
				continue
			}
			check(err)
			jobs, numbers = append(jobs, kernels.Evaluation{Values: t.integers(), Shape: shape, Point: x.Point}), append(numbers, i)
		}
		for i, v := range evaluate(b.s.results(), jobs) {
			values[numbers[i]] = v
		}
		return values
	})
}

// mostEvals is how many evaluations are made in one launch.
const mostEvals = 1 << 8

// evaluate makes evaluations, some at a time.
func evaluate(to results, jobs []kernels.Evaluation) []field.QM31 {
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
	return results{a, box}.read(kernels.SumWords*len(jobs), func(p kernels.Post) error { return e.Run(a, p) })
}

// Restrict implements backend.Backend.
func (b *Passes) Restrict(ctx context.Context, r backend.Restriction) (backend.Table, error) {
	return pass(ctx, func() backend.Table { return b.restrict(r) })
}

// Upload implements backend.Backend.
func (b *Passes) Upload(ctx context.Context, values []field.QM31) (backend.Table, error) {
	return b.Send(ctx, values)
}

// Send implements backend.Sender.
func (b *Passes) Send(ctx context.Context, values []field.QM31) (backend.Table, error) {
	return pass(ctx, func() backend.Table { return table{newCopy(b.s.dev, values), model.Log2Ceil(len(values))} })
}

// Download implements backend.Backend.
func (b *Passes) Download(ctx context.Context, t backend.Table) ([]field.QM31, error) {
	x := t.(table)
	return pass(ctx, func() []field.QM31 { return fetch[field.QM31](b.s.dev, x.at, 1<<x.vars) })
}

// Copy implements backend.Backend.
func (b *Passes) Copy(ctx context.Context, t backend.Table) (backend.Table, error) {
	return pass(ctx, func() backend.Table { return copyOf(b.s.dev, t.(table)) })
}

// copyOf returns a copy of a table.
func copyOf(dev kernels.Device, t table) table {
	at := newArray[field.QM31](dev, 1<<t.vars)
	check(dev.Copy(at, t.at, elementBytes<<t.vars))
	return table{at, t.vars}
}

// Inner implements backend.Backend.
func (b *Passes) Inner(ctx context.Context, list []backend.Instance) ([]field.QM31, error) {
	return pass(ctx, func() []field.QM31 { return inner(b.s.results(), instancesOf(list)) })
}

func instancesOf(list []backend.Instance) []sumcheckInstance {
	insts := make([]sumcheckInstance, len(list))
	for i, in := range list {
		x, y := in.A.(table), in.B.(table)
		insts[i] = sumcheckInstance{a: x.at, b: y.at, vars: x.vars, eq: in.Eq}
	}
	return insts
}

// inner returns the sums of instances.
func inner(to results, insts []sumcheckInstance) []field.QM31 {
	values := make([]field.QM31, len(insts))
	if len(insts) == 0 {
		return values
	}
	a := newScope(to.dev)
	defer a.close()
	order, batch := describeBatch(a, insts)
	read := results{a, to.box}.read(kernels.SumcheckRoundWords*len(insts), func(p kernels.Post) error {
		return kernels.SumcheckInner(a, batch, len(insts), insts[order[0]].vars, p)
	})
	for rank, i := range order {
		values[i] = kernels.FromSum(read[rank*kernels.SumcheckRoundWords:])
	}
	return values
}

// Sums implements backend.Backend.
func (b *Passes) Sums(ctx context.Context, instances []backend.Instance) (_ sumcheck.Tables, err error) {
	a := newScope(b.s.dev)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	return pass(ctx, func() sumcheck.Tables { return newBatch(a, b.s.mailbox(), instancesOf(instances)) })
}
