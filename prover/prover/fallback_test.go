package prover

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/conformance"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

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
func (f *fixture) withDevice(t *testing.T, on *conformance.Faults, p backend.Policy) ([]byte, error) {
	t.Helper()
	opened, closed := 0, 0
	opts := Options{Backend: func(g *model.Graph, w backend.Witness) backend.Backend {
		opened++
		c := cpu.New(g, w)
		return backend.NewFallback(g, conformance.Faulty{Of: c, Faults: on, Closed: &closed}, c, p)
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
	if _, err := tree[0].Layers(context.Background()); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err = Prove(context.Background(), key, f.b.g.Instance, tree, f.run(t), &buf, opts); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// faults is the number of moments at which a device fails in turn.
func faults() int {
	if *full {
		return 24
	}
	return 6
}

// TestFallback lets a device fail at one of its passes after the other, once or
// from then on: the proof has the same bytes, and there is one warning. Where a
// device is required there is an error instead.
func TestFallback(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hash.Blake3, 100)
	var want bytes.Buffer
	if _, err := Prove(context.Background(), f.key, f.b.g.Instance, f.tree, f.run(t), &want, Options{}); err != nil {
		t.Fatal(err)
	}
	for i, threshold := range []int{0, 150, 1 << 10, 1 << 30} {
		sound := &conformance.Faults{}
		got, err := f.withDevice(t, sound, backend.Policy{Threshold: threshold})
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("threshold %d: another proof, or %v", threshold, err)
		}
		if (threshold == 1<<30) != (sound.Calls == 0) {
			t.Errorf("threshold %d: %d calls", threshold, sound.Calls)
		}
		// Some in every kind of step, others with every threshold: package backend tests the
		// first passes of each.
		stride := sound.Calls/faults() + 1
		for k := 0; 1+i*stride/4+k*stride <= sound.Calls; k++ {
			bad := 1 + i*stride/4 + k*stride
			warned := 0
			policy := backend.Policy{Threshold: threshold, Warn: func(err error) {
				if warned++; !errors.Is(err, conformance.ErrLost) {
					t.Errorf("warned of %v", err)
				}
			}}
			got, err := f.withDevice(t, &conformance.Faults{Bad: bad, ForGood: k%2 == 1}, policy)
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
	t.Parallel()
	f := newFixture(t, hash.Poseidon2, 0)
	sound := &conformance.Faults{}
	if _, err := f.withDevice(t, sound, backend.Policy{}); err != nil {
		t.Fatal(err)
	}
	for bad := 1; bad <= sound.Calls; bad += sound.Calls/faults() + 1 {
		if _, err := f.withDevice(t, &conformance.Faults{Bad: bad}, backend.Policy{}); !errors.Is(err, conformance.ErrLost) {
			t.Errorf("fault at %d: %v", bad, err)
		}
	}
}
