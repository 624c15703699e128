package backend

import "context"

// movable is a table of a Fallback: on the device, on the CPU, or both.
type movable struct {
	b           *Fallback
	vars        int
	device, cpu Table
	// again makes the table on another backend when the device has lost it.
	again func(context.Context, Backend) (Table, error)
}

// table makes a table of 2^vars entries in a step over n entries.
func (b *Fallback) table(ctx context.Context, n, vars int, make func(context.Context, Backend) (Table, error)) (Table, error) {
	t := &movable{b: b, vars: vars, again: make}
	_, err := run(ctx, b, b.worth(n), func(on Backend) (Table, error) {
		made, err := make(ctx, on)
		switch {
		case err != nil:
		case on == b.device:
			t.device = made
		default:
			t.cpu = made
		}
		return made, err
	})
	return t, err
}

// on returns the table on one of the two backends.
func (t *movable) on(ctx context.Context, b Backend) (Table, error) {
	if b == t.b.cpu {
		return t.local(ctx)
	}
	if t.device == nil {
		device, err := t.sent(ctx, b)
		if err != nil {
			return nil, err
		}
		t.device = device
	}
	return t.device, nil
}

// sent uploads the table from the CPU, without a copy in between where there need be none.
func (t *movable) sent(ctx context.Context, b Backend) (Table, error) {
	to, sends := b.(Sender)
	if from, holds := t.b.cpu.(Holder); sends && holds {
		return to.Send(ctx, from.Held(t.cpu))
	}
	values, err := t.b.cpu.Download(ctx, t.cpu)
	if err != nil {
		return nil, err
	}
	return b.Upload(ctx, values)
}

// local returns the table on the CPU.
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

// take is on for passes that use the table up.
func (t *movable) take(ctx context.Context, b Backend) (Table, error) {
	v, err := t.on(ctx, b)
	if b == t.b.cpu {
		t.cpu = nil
	} else {
		t.device = nil
	}
	return v, err
}
