package prover

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/sumcheck"
	"github.com/prove-model/prove-model/prover/transcript"
	"github.com/prove-model/prove-model/prover/whir"
)

var errLost = errors.New("the device fell off the bus")

// faults are the operations of a device, of which one goes wrong, and in the
// mode "for good" all that follow too.
type faults struct {
	calls, bad int // number of calls so far, and of the one to fail
	forGood    bool
}

func (f *faults) op() {
	f.calls++
	if f.calls == f.bad || f.forGood && f.bad > 0 && f.calls > f.bad {
		panic(backend.Failure{Err: errLost})
	}
}

// faulty is a device with faults. Its tables are none that the CPU backend
// could use, and what fails has done half of its work by then.
type faulty struct {
	cpu    *cpu.Backend
	f      *faults
	closed *int
}

type deviceTable struct{ values []field.QM31 }

var _ backend.Backend = (*faulty)(nil)

func (d *faulty) Eval(id model.TensorID, point []field.QM31) field.QM31 {
	d.f.op()
	return d.cpu.Eval(id, point)
}

func (d *faulty) Restrict(r backend.Restriction) backend.Table {
	d.f.op()
	return &deviceTable{d.cpu.Restrict(r).([]field.QM31)}
}

func (d *faulty) Upload(v []field.QM31) backend.Table {
	d.f.op()
	return &deviceTable{append([]field.QM31(nil), v...)}
}

func (d *faulty) Download(t backend.Table) []field.QM31 {
	d.f.op()
	return append([]field.QM31(nil), t.(*deviceTable).values...)
}

func (d *faulty) Inner(eq []field.QM31, a, b backend.Table) field.QM31 {
	d.f.op()
	return d.cpu.Inner(eq, a.(*deviceTable).values, b.(*deviceTable).values)
}

func (d *faulty) Sumcheck(w *transcript.Writer, in []backend.Instance) []sumcheck.Final {
	local := make([]backend.Instance, len(in))
	for i, x := range in {
		local[i] = backend.Instance{Claim: x.Claim, Eq: x.Eq, A: x.A.(*deviceTable).values, B: x.B.(*deviceTable).values}
	}
	finals := d.cpu.Sumcheck(w, local)
	d.f.op()
	return finals
}

func (d *faulty) LogUp(w *transcript.Writer, l backend.Leaves) (point []field.QM31, num, den field.QM31) {
	point, num, den = d.cpu.LogUp(w, l)
	d.f.op()
	return point, num, den
}

func (d *faulty) Commit(s backend.Stack) *whir.Tree {
	d.f.op()
	t := d.cpu.Commit(s)
	return whir.NewTree(s.RowVars, s.LogBlowup, s.Rows, &faultyNodes{t.Nodes(), d.f})
}

func (d *faulty) Open(w *transcript.Writer, o backend.Opening) {
	search := w.Search
	w.Search = func(poseidon2.State, int) uint64 { return field.P } // must not be left behind
	begin := w.Snapshot()
	w.SendM31(1, 2, 3)
	d.f.op()
	w.Restore(begin)
	w.Search = search
	d.cpu.Open(w, o)
	d.f.op()
}

func (d *faulty) Close() { *d.closed++ }

type faultyNodes struct {
	whir.Nodes
	f *faults
}

func (n *faultyNodes) Open(w *transcript.Writer, positions []uint64) {
	n.Nodes.Open(w, positions)
	n.f.op()
}

func (n *faultyNodes) Layers() [][]poseidon2.Digest {
	n.f.op()
	return n.Nodes.Layers()
}

// run is the forward pass of the fixture's input.
func (f *fixture) run(t *testing.T) *forward.Witness {
	t.Helper()
	wit, err := forward.Run(context.Background(), &f.b.g, f.b.w, f.in)
	if err != nil {
		t.Fatal(err)
	}
	return wit
}

// withDevice proves on a device with the given faults.
func (f *fixture) withDevice(t *testing.T, on *faults, p backend.Policy) ([]byte, error) {
	t.Helper()
	opened, closed := 0, 0
	opts := Options{Backend: func(g *model.Graph, w backend.Witness) backend.Backend {
		opened++
		c := cpu.New(g, w)
		return backend.NewFallback(g, &faulty{c, on, &closed}, c, p)
	}}
	defer func() {
		if opened != closed {
			t.Errorf("%d backends made, %d closed", opened, closed)
		}
	}()
	key, tree, err := Commit(context.Background(), f.b.g.Template(), f.b.w, f.key.Security, opts)
	if err != nil {
		return nil, err
	}
	if key.Digest != f.key.Digest {
		t.Error("another key")
	}
	// What the cache stores.
	if err := backend.Catch(func() { tree.Layers() }); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err = Prove(context.Background(), key, &f.b.g, tree, f.run(t), &buf, opts); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// TestFallback lets a device fail at each of its operations in turn, once or
// from then on: the proof has the same bytes, and there is one warning. Where a
// device is required there is an error instead.
func TestFallback(t *testing.T) {
	f := newFixture(t, 100)
	var want bytes.Buffer
	if _, err := Prove(context.Background(), f.key, &f.b.g, f.tree, f.run(t), &want, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, threshold := range []int{0, 150, 1 << 10, 1 << 30} {
		sound := &faults{}
		got, err := f.withDevice(t, sound, backend.Policy{Threshold: threshold})
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("threshold %d: another proof, or %v", threshold, err)
		}
		if (threshold == 1<<30) != (sound.calls == 0) {
			t.Errorf("threshold %d: %d calls", threshold, sound.calls)
		}
		// All of them where everything runs on the device; some of the moves
		// between device and CPU otherwise.
		stride := 1
		if threshold > 0 {
			stride = 5
		}
		for bad := 1; bad <= sound.calls; bad += stride {
			warned := 0
			policy := backend.Policy{Threshold: threshold, Warn: func(err error) {
				if warned++; !errors.Is(err, errLost) {
					t.Errorf("warned of %v", err)
				}
			}}
			got, err := f.withDevice(t, &faults{bad: bad, forGood: bad%2 == 0}, policy)
			if err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("threshold %d, fault at %d: another proof, or %v", threshold, bad, err)
			}
			if warned != 1 && warned != 2 { // committing and proving are two backends
				t.Errorf("threshold %d, fault at %d: %d warnings", threshold, bad, warned)
			}
		}
	}
}

// TestRequiredDevice: a device that fails is an error where there is no way back.
func TestRequiredDevice(t *testing.T) {
	f := newFixture(t, 0)
	sound := &faults{}
	if _, err := f.withDevice(t, sound, backend.Policy{}); err != nil {
		t.Fatal(err)
	}
	for bad := 1; bad <= sound.calls; bad += 7 {
		if _, err := f.withDevice(t, &faults{bad: bad}, backend.Policy{}); !errors.Is(err, errLost) {
			t.Errorf("fault at %d: %v", bad, err)
		}
	}
}
