package backend

import (
	"context"

	"github.com/prove-model/prove-model/prover/math/field"
)

// movable is a table of a Fallback: on the device, on the CPU, or both.
type movable struct {
	b           *Fallback
	vars        int
	device, cpu Table
	// again makes the table on another backend when the device has lost it.
	again func(context.Context, Backend) (Table, error)
}

// table makes a table of 2^vars entries with the function make, on the device if a step over n
// entries is worth that.
func (b *Fallback) table(ctx context.Context, n, vars int, make func(context.Context, Backend) (Table, error)) (Table, error) {
	t := &movable{b: b, vars: vars, again: make}
	_, err := run(ctx, b, b.worth(n), func(on Backend) (Table, error) {
		made, err := make(ctx, on)
		if err == nil {
			t.put(on, made)
		}
		return made, err
	})
	return t, err
}

// put records the table that has been made on one of the two backends.
func (t *movable) put(on Backend, made Table) {
	if on == t.b.device {
		t.device = made
	} else {
		t.cpu = made
	}
}

// on returns the table on one of the two backends. If it is on the other one alone, its values are
// copied.
func (t *movable) on(ctx context.Context, b Backend) (Table, error) {
	if b == t.b.cpu {
		return t.local(ctx)
	}
	if t.device == nil {
		values, err := t.b.cpu.Download(ctx, t.cpu)
		if err != nil {
			return nil, err
		}
		if t.device, err = b.Upload(ctx, values); err != nil {
			return nil, err
		}
	}
	return t.device, nil
}

// send uploads those tables of instances that are on the CPU alone to the device, all at once and
// without an intermediate copy. It does nothing unless the device is a Sender and the CPU a Holder.
func (b *Fallback) send(ctx context.Context, list []Instance) error {
	to, sends := b.device.(Sender)
	from, holds := b.cpu.(Holder)
	if !sends || !holds {
		return nil
	}
	var tables []*movable
	var values [][]field.QM31
	seen := map[*movable]bool{}
	for _, in := range list {
		for _, x := range []Table{in.A, in.B} {
			if t := x.(*movable); t.device == nil && !seen[t] {
				seen[t] = true
				tables, values = append(tables, t), append(values, from.Held(t.cpu))
			}
		}
	}
	if len(tables) == 0 {
		return nil
	}
	sent, err := to.Send(ctx, values)
	for i := range sent {
		tables[i].device = sent[i]
	}
	return err
}

// local returns the table on the CPU. If it is on the device alone, it is downloaded, or made again if
// the device has failed.
func (t *movable) local(ctx context.Context) (Table, error) {
	if t.cpu != nil {
		return t.cpu, nil
	}
	var err error
	if t.device != nil && !t.b.lost {
		values, failed := t.b.device.Download(ctx, t.device)
		if failed == nil {
			t.cpu, err = t.b.cpu.Upload(ctx, values)
			return t.cpu, err
		}
		if err := t.b.lose(ctx, failed); err != nil {
			return nil, err
		}
	}
	t.cpu, err = t.again(ctx, t.b.cpu)
	return t.cpu, err
}

// take is on for passes that use up the table of that backend: it is forgotten.
func (t *movable) take(ctx context.Context, b Backend) (Table, error) {
	v, err := t.on(ctx, b)
	if b == t.b.cpu {
		t.cpu = nil
	} else {
		t.device = nil
	}
	return v, err
}
