package backend

import (
	"context"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// DefaultThreshold is the least size of a step, in entries of the tables concerned,
// that is worth a device.
const DefaultThreshold = 1 << 11

// Fallback is a Backend that runs large steps on a device and the others on the CPU. When
// the device fails during a pass, the CPU makes the earlier passes over the same data again
// ([replayed]) and then the failed one. The CPU does everything after that as well, unless
// the device is still good (Policy.Passes), for example if only its memory was short. Passes
// return the same numbers wherever they run, so the caller notices nothing. A Fallback is
// for one goroutine.
type Fallback struct {
	graph       *model.Graph
	device, cpu Backend
	policy      Policy
	lost        bool // the device has been given up
}

// Policy says which steps a Fallback runs on the device, and what it does when the device fails.
type Policy struct {
	// Threshold is the least size of a step that goes to the device.
	Threshold int
	// Warn is called with the error for which the device is given up. If it is nil, the Fallback returns
	// the error and does not go on with the CPU.
	Warn func(error)
	// Passes, if set, says whether the device can be used as before after an error. Then only the
	// data of the failed pass move to the CPU. Warn is called in that case too.
	Passes func(error) bool
}

var (
	_ Parallel = (*Fallback)(nil)
	_ Preparer = (*Fallback)(nil)
)

// NewFallback returns a Fallback over two backends, which have the same witness of g.
func NewFallback(g *model.Graph, device, cpu Backend, p Policy) *Fallback {
	return &Fallback{graph: g, device: device, cpu: cpu, policy: p}
}

// Worker implements Parallel. Both the device and the CPU must implement it too. The worker
// returns errors of its device: whoever uses the worker runs all of its work again elsewhere.
func (b *Fallback) Worker(n int) (Backend, error) {
	device, err := b.device.(Parallel).Worker(n)
	if err != nil {
		return nil, err
	}
	cpu, err := b.cpu.(Parallel).Worker(n)
	if err != nil {
		device.Close()
		return nil, err
	}
	return NewFallback(b.graph, device, cpu, Policy{Threshold: b.policy.Threshold}), nil
}

// Peak implements Measured. It returns the device's Peak, or 0 if the device has none.
func (b *Fallback) Peak() int64 {
	if m, ok := b.device.(Measured); ok {
		return m.Peak()
	}
	return 0
}

// worth says whether a step over n entries goes to the device.
func (b *Fallback) worth(n int) bool { return !b.lost && n >= b.policy.Threshold }

// lose is called with an error of the device. If the CPU is to go on, it returns nil; the device is
// then given up unless Policy.Passes says that it is still good. Otherwise, if the context has
// ended or the policy has no Warn, it returns the error to return.
func (b *Fallback) lose(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if b.policy.Warn == nil {
		return fmt.Errorf("device: %w", err)
	}
	if !b.lost {
		b.lost = b.policy.Passes == nil || !b.policy.Passes(err)
		b.policy.Warn(err)
	}
	return nil
}

// run does a step that is one call, f: on the device if worth is true, and otherwise, or if the
// device fails, on the CPU.
func run[R any](ctx context.Context, b *Fallback, worth bool, f func(Backend) (R, error)) (R, error) {
	if worth {
		v, err := f(b.device)
		if err == nil {
			return v, nil
		}
		if err := b.lose(ctx, err); err != nil {
			return v, err
		}
	}
	return f(b.cpu)
}

// Eval implements Backend.
func (b *Fallback) Eval(ctx context.Context, list []Evaluation) ([]field.QM31, error) {
	worth := func(x Evaluation) bool { return b.worth(b.size(x.Tensor)) }
	return divided(ctx, b, list, worth, func(on Backend, part []Evaluation) ([]field.QM31, error) { return on.Eval(ctx, part) })
}

// size returns the number of entries of a tensor.
func (b *Fallback) size(id model.TensorID) int { return model.Size(b.graph.Tensors[id].Shape) }

// Total implements Backend. It always runs on the CPU: adding up numbers in memory takes less time than a call of a device.
func (b *Fallback) Total(ctx context.Context, id model.TensorID, of []model.Rows) (field.M31, error) {
	return b.cpu.Total(ctx, id, of)
}

// Restrict implements Backend. All restrictions go to the device if their sizes together reach the threshold, even the small ones
// among them.
func (b *Fallback) Restrict(ctx context.Context, list []Restriction) ([]Table, error) {
	n := 0
	tables, all := make([]*movable, len(list)), make([]Table, len(list))
	for i, r := range list {
		n += b.size(r.Tensor)
		t := &movable{b: b, again: func(ctx context.Context, on Backend) (Table, error) {
			made, err := on.Restrict(ctx, []Restriction{r})
			if err != nil {
				return nil, err
			}
			return made[0], nil
		}}
		for _, axis := range r.Keep {
			t.vars += model.Log2Ceil(b.graph.Tensors[r.Tensor].Shape[axis])
		}
		tables[i], all[i] = t, t
	}
	_, err := run(ctx, b, b.worth(n), func(on Backend) ([]Table, error) {
		made, err := on.Restrict(ctx, list)
		for i := range made {
			tables[i].put(on, made[i])
		}
		return made, err
	})
	return all, err
}

// Upload implements Backend.
func (b *Fallback) Upload(ctx context.Context, values []field.QM31) (Table, error) {
	vars := model.Log2Ceil(len(values))
	return b.table(ctx, len(values), vars, func(ctx context.Context, on Backend) (Table, error) { return on.Upload(ctx, values) })
}

// Download implements Backend.
func (b *Fallback) Download(ctx context.Context, t Table) ([]field.QM31, error) {
	local, err := t.(*movable).on(ctx, b.cpu)
	if err != nil {
		return nil, err
	}
	return b.cpu.Download(ctx, local)
}

// Copy implements Backend. The copy is made on the device if the table is there, and otherwise on the CPU.
func (b *Fallback) Copy(ctx context.Context, t Table) (Table, error) {
	from := t.(*movable)
	copied := &movable{b: b, vars: from.vars, again: from.again}
	_, err := run(ctx, b, !b.lost && from.device != nil, func(on Backend) (Table, error) {
		own, err := from.on(ctx, on)
		if err == nil {
			own, err = on.Copy(ctx, own)
		}
		if err == nil {
			copied.put(on, own)
		}
		return own, err
	})
	return copied, err
}

// Inner implements Backend. An instance of which a table is on the device is summed there. The others
// are summed on the CPU, unless their sizes together reach the threshold. Then they go to the device
// too, where the batch of these sums will need their tables.
func (b *Fallback) Inner(ctx context.Context, list []Instance) ([]field.QM31, error) {
	there := func(in Instance) bool { return in.A.(*movable).device != nil || in.B.(*movable).device != nil }
	n := 0
	for _, in := range list {
		if !there(in) {
			n += 2 << in.A.(*movable).vars
		}
	}
	all := b.worth(n)
	onDevice := func(in Instance) bool { return all || !b.lost && there(in) }
	return divided(ctx, b, list, onDevice, func(on Backend, part []Instance) ([]field.QM31, error) {
		own, err := b.moved(ctx, on, part, func(t *movable) (Table, error) { return t.on(ctx, on) })
		if err != nil {
			return nil, err
		}
		return on.Inner(ctx, own)
	})
}

// moved returns the instances with tables of the backend `on`. `to` returns the table of that backend
// for a movable one.
func (b *Fallback) moved(ctx context.Context, on Backend, list []Instance, to func(*movable) (Table, error)) ([]Instance, error) {
	if on == b.device {
		if err := b.send(ctx, list); err != nil {
			return nil, err
		}
	}
	own := make([]Instance, len(list))
	for i, in := range list {
		x, err := to(in.A.(*movable))
		if err != nil {
			return nil, err
		}
		y, err := to(in.B.(*movable))
		if err != nil {
			return nil, err
		}
		own[i] = Instance{Eq: in.Eq, A: x, B: y}
	}
	return own, nil
}

// divided calls f for the elements of a list that are worth the device, on the device, and for the
// others on the CPU. It returns the results in the order of the list.
func divided[T any](ctx context.Context, b *Fallback, list []T, worth func(T) bool, f func(Backend, []T) ([]field.QM31, error)) ([]field.QM31, error) {
	var parts [2][]T                // the elements for the CPU, and those for the device
	where := make([]int, len(list)) // by element: the index of its part
	for i, x := range list {
		if worth(x) {
			where[i] = 1
		}
		parts[where[i]] = append(parts[where[i]], x)
	}
	var values [2][]field.QM31
	for k, part := range parts {
		if len(part) == 0 {
			continue
		}
		v, err := run(ctx, b, k == 1, func(on Backend) ([]field.QM31, error) { return f(on, part) })
		if err != nil {
			return nil, err
		}
		values[k] = v
	}
	all := make([]field.QM31, len(list))
	for i, k := range where {
		all[i], values[k] = values[k][0], values[k][1:]
	}
	return all, ctx.Err()
}

// Sums implements Backend.
func (b *Fallback) Sums(ctx context.Context, instances []Instance) (sumcheck.Tables, error) {
	n := 0
	for _, in := range instances {
		n += 2 << in.A.(*movable).vars
	}
	r, err := newReplayed(ctx, b, n, func(ctx context.Context, on Backend) (sumcheck.Tables, error) {
		own, err := b.moved(ctx, on, instances, func(t *movable) (Table, error) { return t.take(ctx, on) })
		if err != nil {
			return nil, err
		}
		return on.Sums(ctx, own)
	})
	return Sums{r}, err
}

// Fractions implements Backend.
func (b *Fallback) Fractions(ctx context.Context, l Leaves) (logup.Tree, error) {
	r, err := newReplayed(ctx, b, l.Size, func(ctx context.Context, on Backend) (logup.Tree, error) { return on.Fractions(ctx, l) })
	return Fractions{r}, err
}

// RowSums implements Backend.
func (b *Fallback) RowSums(ctx context.Context, jobs []RowSum) ([][]field.QM31, error) {
	return columnSums(ctx, b, jobs, func(j *RowSum) *Column { return &j.Column }, Backend.RowSums)
}

// ColumnSums implements Backend.
func (b *Fallback) ColumnSums(ctx context.Context, jobs []ColumnSum) ([][]field.QM31, error) {
	return columnSums(ctx, b, jobs, func(j *ColumnSum) *Column { return &j.Column }, Backend.ColumnSums)
}

// columnSums does jobs with the method pass, on the device if the sizes of their columns together reach the threshold. of returns
// the column of a job.
func columnSums[J any](ctx context.Context, b *Fallback, jobs []J, of func(*J) *Column, pass func(Backend, context.Context, []J) ([][]field.QM31, error)) ([][]field.QM31, error) {
	n := 0
	for i := range jobs {
		n += model.Size(b.graph.Steps[of(&jobs[i]).Step].Shape)
	}
	return run(ctx, b, b.worth(n), func(on Backend) ([][]field.QM31, error) { return pass(on, ctx, jobs) })
}

// Commit implements Backend. If the device fails later, before all digests have been
// asked for, the CPU commits again.
func (b *Fallback) Commit(ctx context.Context, c Commitment) (*whir.Tree, error) {
	var tree *whir.Tree
	r, err := newReplayed(ctx, b, c.values(), func(ctx context.Context, on Backend) (whir.Nodes, error) {
		t, err := on.Commit(ctx, c)
		if err != nil {
			return nil, err
		}
		if tree != nil && t.Root() != tree.Root() {
			return nil, errDigests
		}
		tree = t
		return t.Nodes(), nil
	})
	if err != nil || !r.onDevice {
		return tree, err
	}
	return whir.NewTree(c.Layout, &replayedNodes{r, tree.Root(), r.now.Depth()}), nil
}

// Prepare implements Preparer. It does nothing if the device does not implement it.
func (b *Fallback) Prepare(ctx context.Context, o Opening, beside int64) {
	if p, ok := b.device.(Preparer); ok && b.worth(o.values()) {
		p.Prepare(ctx, o, beside)
	}
}

// Opening implements Backend.
func (b *Fallback) Opening(ctx context.Context, o Opening) (whir.Passes, error) {
	r, err := newReplayed(ctx, b, o.values(), func(ctx context.Context, on Backend) (whir.Passes, error) { return on.Opening(ctx, o) })
	return Openings{r}, err
}

// Close implements Backend.
func (b *Fallback) Close() {
	b.device.Close()
	b.cpu.Close()
}
