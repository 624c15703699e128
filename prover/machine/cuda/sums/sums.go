// Package sums has the passes of claim reductions on a device: evaluations and restrictions of tensors, sumchecks, and
// look-up trees. One launch (a pass) does one, two or three rounds of all instances of a batch, and leaves the sums in
// a result buffer, for which the host waits. A challenge is not bound by a launch of its own but by the next pass.
package sums

import (
	"context"
	"errors"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// Passes implements the part of backend.Backend that is not commitments and openings: evaluations, restrictions,
// sumchecks and look-up trees. It is for one goroutine at a time.
type Passes struct {
	*cpu.Backend // for what runs on the processor: small look-up trees, other product tensors, Total
	s            *run.Stream
}

// NewPasses returns Passes that work through the stream s. The caller keeps s and closes it.
func NewPasses(s *run.Stream) *Passes { return &Passes{cpu.New(s.Graph, s.Witness), s} }

// table is a backend.Table: 2^vars elements of K on the device.
type table struct {
	at   kernels.Ptr
	vars int
}

// Eval implements backend.Backend. Tensors for which the device has no room are evaluated in pieces.
func (b *Passes) Eval(ctx context.Context, list []backend.Evaluation) ([]field.QM31, error) {
	return device.Pass(ctx, func() []field.QM31 {
		values := make([]field.QM31, len(list))
		var jobs []kernels.Evaluation
		var numbers []int
		for i, x := range list {
			shape := b.s.Graph.Tensors[x.Tensor].Shape
			t, err := b.s.Find(x.Tensor)
			if errors.Is(err, kernels.ErrMemory) {
				values[i] = b.evalPieces(shape, x)
				continue
			}
			device.Check(err)
			jobs, numbers = append(jobs, kernels.Evaluation{Values: t.Integers(), Shape: shape, Point: x.Point}), append(numbers, i)
		}
		for i, v := range evaluate(b.s.Results(), jobs) {
			values[numbers[i]] = v
		}
		return values
	})
}

// mostEvals is the most evaluations that are made in one launch.
const mostEvals = 1 << 8

// evaluate returns the results of evaluations, mostEvals of them a launch.
func evaluate(to device.Results, jobs []kernels.Evaluation) (values []field.QM31) {
	for some := range slices.Chunk(jobs, mostEvals) {
		words := within(to, func(to device.Results, a *device.Scope) []uint64 {
			e := device.Get(kernels.NewEvaluations(a, some))
			return to.Read(kernels.SumWords*len(some), func(p kernels.Post) error { return e.Run(a, p) })
		})
		for i := range some {
			values = append(values, kernels.FromSum(words[kernels.SumWords*i:]))
		}
	}
	return values
}

// within calls f with a new scope a, and with Results for launches in it. The scope is closed afterwards.
func within[R any](to device.Results, f func(to device.Results, a *device.Scope) R) R {
	a := device.NewScope(to.Dev)
	defer a.Close()
	return f(device.Results{Dev: a, Box: to.Box}, a)
}

// Restrict implements backend.Backend. Restrictions of small tensors are made together (smallTables).
func (b *Passes) Restrict(ctx context.Context, list []backend.Restriction) ([]backend.Table, error) {
	return device.Pass(ctx, func() []backend.Table {
		tables := make([]backend.Table, len(list))
		var small smallTables
		for i, r := range list {
			shape := b.s.Graph.Tensors[r.Tensor].Shape
			if b.s.Graph.IsProduct(r.Tensor) {
				tables[i] = b.restrictProduct(ctx, r)
				continue
			}
			if model.Size(shape) <= mostSmall {
				if t, err := b.s.Find(r.Tensor); err == nil && small.add(&tables[i], shape, t.Integers(), r) {
					continue
				}
			}
			tables[i] = b.restrict(r)
		}
		small.make(b.s.Dev)
		return tables
	})
}

// Upload implements backend.Backend.
func (b *Passes) Upload(ctx context.Context, values []field.QM31) (backend.Table, error) {
	return device.Pass(ctx, func() backend.Table { return table{device.NewCopy(b.s.Dev, values), model.Log2Ceil(len(values))} })
}

// Send implements backend.Sender. All lists are uploaded together, to one allocation.
func (b *Passes) Send(ctx context.Context, list [][]field.QM31) ([]backend.Table, error) {
	return device.Pass(ctx, func() []backend.Table {
		sizes, n := make([]int, len(list)), 0
		for i, values := range list {
			sizes[i] = device.ElementBytes * len(values)
			n += len(values)
		}
		at := device.Get(b.s.Dev.Several(sizes))
		all := make([]field.QM31, 0, n)
		tables := make([]backend.Table, len(list))
		for i, values := range list {
			all = append(all, values...)
			tables[i] = table{at[i], model.Log2Ceil(len(values))}
		}
		device.Check(kernels.UploadSlice(b.s.Dev, at[0], all))
		return tables
	})
}

// Download implements backend.Backend.
func (b *Passes) Download(ctx context.Context, t backend.Table) ([]field.QM31, error) {
	x := t.(table)
	return device.Pass(ctx, func() []field.QM31 { return device.Fetch[field.QM31](b.s.Dev, x.at, 1<<x.vars) })
}

// Copy implements backend.Backend.
func (b *Passes) Copy(ctx context.Context, t backend.Table) (backend.Table, error) {
	x := t.(table)
	return device.Pass(ctx, func() backend.Table {
		at := device.NewArray[field.QM31](b.s.Dev, 1<<x.vars)
		device.Check(b.s.Dev.Copy(at, x.at, device.ElementBytes<<x.vars))
		return table{at, x.vars}
	})
}

// Inner implements backend.Backend.
func (b *Passes) Inner(ctx context.Context, list []backend.Instance) ([]field.QM31, error) {
	return device.Pass(ctx, func() []field.QM31 { return inner(b.s.Results(), instancesOf(list)) })
}

// instancesOf returns instances whose tables are on the device.
func instancesOf(list []backend.Instance) []sumcheckInstance {
	insts := make([]sumcheckInstance, len(list))
	for i, in := range list {
		x, y := in.A.(table), in.B.(table)
		insts[i] = sumcheckInstance{a: x.at, b: y.at, vars: x.vars, eq: in.Eq}
	}
	return insts
}

// inner returns the sum of each instance, Σ eq·a·b, all from one launch.
func inner(to device.Results, insts []sumcheckInstance) []field.QM31 {
	values := make([]field.QM31, len(insts))
	if len(insts) == 0 {
		return values
	}
	return within(to, func(to device.Results, a *device.Scope) []field.QM31 {
		order, batch := describeBatch(a, insts)
		read := to.Read(kernels.SumcheckRoundWords*len(insts), func(p kernels.Post) error {
			return kernels.SumcheckInner(a, batch, len(insts), insts[order[0]].vars, p)
		})
		for rank, i := range order {
			values[i] = kernels.FromSum(read[rank*kernels.SumcheckRoundWords:])
		}
		return values
	})
}

// Sums implements backend.Backend.
func (b *Passes) Sums(ctx context.Context, instances []backend.Instance) (_ sumcheck.Tables, err error) {
	a := device.NewScope(b.s.Dev)
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	return device.Pass(ctx, func() sumcheck.Tables {
		x := newBatch(a, b.s.ResultBuffer(), instancesOf(instances))
		x.dry = b.s.Context.Dry
		return x
	})
}
