package conformance

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// ErrLost is the error of a Faulty.
var ErrLost = errors.New("the device fell off the bus")

// Faults counts the passes of one or more devices, and makes one of them fail.
type Faults struct {
	// Calls is the number of passes so far. Bad is the number, from 1 on, of the
	// pass that fails; 0 for none. If ForGood is set, all passes after it fail too.
	Calls, Bad int
	ForGood    bool
	// Err is the error of a pass that fails, ErrLost if it is nil. If Panic is set, the pass panics instead.
	Err   error
	Panic bool
	// Slow is how much longer every pass takes.
	Slow time.Duration

	mu sync.Mutex // protects Calls
}

// run is a hook. A pass that is to fail does its work first, so that it may have changed its data.
func (f *Faults) run(pass func() error) error {
	f.mu.Lock()
	f.Calls++
	bad := f.Calls == f.Bad || f.ForGood && f.Bad > 0 && f.Calls > f.Bad
	f.mu.Unlock()
	time.Sleep(f.Slow)
	err := pass()
	switch {
	case !bad:
		return err
	case f.Panic:
		panic("a pass went wrong")
	case f.Err != nil:
		return f.Err
	}
	return ErrLost
}

// Faulty is a backend that behaves like a device with faults. Its tables are of a type that no
// other backend accepts, as a device's are.
type Faulty struct {
	Of     backend.Backend // does the work
	Faults *Faults
	Closed *int // if set, counts calls of Close
}

// deviceTable is a table of a Faulty.
type deviceTable struct{ of backend.Table }

var _ backend.Parallel = Faulty{}

// Worker implements backend.Parallel; Of must implement it too. All workers share the faults.
func (d Faulty) Worker(n int) (backend.Backend, error) {
	worker, err := d.Of.(backend.Parallel).Worker(n)
	return Faulty{Of: worker, Faults: d.Faults}, err
}

// Total implements backend.Backend.
func (d Faulty) Total(ctx context.Context, id model.TensorID, of []model.Rows) (field.M31, error) {
	return through(d.Faults.run, func() (field.M31, error) { return d.Of.Total(ctx, id, of) })
}

// Eval implements backend.Backend.
func (d Faulty) Eval(ctx context.Context, list []backend.Evaluation) ([]field.QM31, error) {
	return through(d.Faults.run, func() ([]field.QM31, error) { return d.Of.Eval(ctx, list) })
}

func (d Faulty) table(t backend.Table, err error) (backend.Table, error) { return &deviceTable{t}, err }

// Restrict implements backend.Backend.
func (d Faulty) Restrict(ctx context.Context, list []backend.Restriction) ([]backend.Table, error) {
	return through(d.Faults.run, func() ([]backend.Table, error) {
		tables, err := d.Of.Restrict(ctx, list)
		for i, t := range tables {
			tables[i] = &deviceTable{t}
		}
		return tables, err
	})
}

// Upload implements backend.Backend.
func (d Faulty) Upload(ctx context.Context, values []field.QM31) (backend.Table, error) {
	own := append([]field.QM31(nil), values...)
	return through(d.Faults.run, func() (backend.Table, error) { return d.table(d.Of.Upload(ctx, own)) })
}

// Download implements backend.Backend.
func (d Faulty) Download(ctx context.Context, t backend.Table) ([]field.QM31, error) {
	return through(d.Faults.run, func() ([]field.QM31, error) { return d.Of.Download(ctx, t.(*deviceTable).of) })
}

// Copy implements backend.Backend.
func (d Faulty) Copy(ctx context.Context, t backend.Table) (backend.Table, error) {
	return through(d.Faults.run, func() (backend.Table, error) { return d.table(d.Of.Copy(ctx, t.(*deviceTable).of)) })
}

// Inner implements backend.Backend.
func (d Faulty) Inner(ctx context.Context, list []backend.Instance) ([]field.QM31, error) {
	own := make([]backend.Instance, len(list))
	for i, in := range list {
		own[i] = backend.Instance{Eq: in.Eq, A: in.A.(*deviceTable).of, B: in.B.(*deviceTable).of}
	}
	return through(d.Faults.run, func() ([]field.QM31, error) { return d.Of.Inner(ctx, own) })
}

// Sums implements backend.Backend.
func (d Faulty) Sums(ctx context.Context, instances []backend.Instance) (sumcheck.Tables, error) {
	own := make([]backend.Instance, len(instances))
	for i, in := range instances {
		x, y := in.A.(*deviceTable), in.B.(*deviceTable)
		own[i] = backend.Instance{Eq: in.Eq, A: x.of, B: y.of}
		x.of, y.of = nil, nil // Sums takes the tables over: using them again is an error
	}
	return through(d.Faults.run, func() (sumcheck.Tables, error) {
		t, err := d.Of.Sums(ctx, own)
		return backend.Sums{Relay: hooked[sumcheck.Tables]{d.Faults.run, t}}, err
	})
}

// Fractions implements backend.Backend.
func (d Faulty) Fractions(ctx context.Context, l backend.Leaves) (logup.Tree, error) {
	return through(d.Faults.run, func() (logup.Tree, error) {
		t, err := d.Of.Fractions(ctx, l)
		return backend.Fractions{Relay: hooked[logup.Tree]{d.Faults.run, t}}, err
	})
}

// RowSums implements backend.Backend.
func (d Faulty) RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	return through(d.Faults.run, func() ([][]field.QM31, error) { return d.Of.RowSums(ctx, jobs) })
}

// ColumnSums implements backend.Backend.
func (d Faulty) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	return through(d.Faults.run, func() ([][]field.QM31, error) { return d.Of.ColumnSums(ctx, jobs) })
}

// Commit implements backend.Backend.
func (d Faulty) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	return through(d.Faults.run, func() (*whir.Tree, error) {
		t, err := d.Of.Commit(ctx, c)
		if err != nil {
			return nil, err
		}
		return whir.NewTree(c.Layout, hookedNodes{d.Faults.run, t.Nodes()}), nil
	})
}

// Opening implements backend.Backend.
func (d Faulty) Opening(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	return through(d.Faults.run, func() (whir.Passes, error) {
		p, err := d.Of.Opening(ctx, o)
		return backend.Openings{Relay: hooked[whir.Passes]{d.Faults.run, p}}, err
	})
}

// Close implements backend.Backend.
func (d Faulty) Close() {
	if d.Closed != nil {
		*d.Closed++
	}
	d.Of.Close()
}
