package prover

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// TestHidingOnDevices: hiding proofs have the processor's bytes, given the same masks: on one device, with rows packed in pieces
// and with values that are made again, and on several, of which one may fail.
func TestHidingOnDevices(t *testing.T) {
	t.Parallel()
	dev := devicetest.Open(t)
	b := layered(4, 2, 12, true)
	wit := b.run(t, rand.New(rand.NewPCG(1, 4)))
	const large = 1 << 26
	for name, c := range map[string]rig{
		"one, blake3":                  {capacities: []int{large}, workers: 2},
		"one, in pieces, poseidon2":    {capacities: []int{large}, workers: 1},
		"values made again, blake3":    {capacities: []int{large}, workers: 1, forward: true, again: true},
		"three, poseidon2":             {capacities: []int{large, large, large}, workers: 1},
		"two, an input hidden, blake3": {capacities: []int{large, large}, workers: 2},
		"two, of which one is, blake3": {capacities: []int{large, large}, workers: 2, fault: func(_ string, n int) error { return onlyAfter(n, 160) }},
	} {
		if !*full && (strings.HasPrefix(name, "one, blake3") || strings.HasPrefix(name, "three")) {
			continue
		}
		suite := hash.Blake3
		if strings.HasSuffix(name, "poseidon2") {
			suite = hash.Poseidon2
		}
		key, tree, err := Commit(t.Context(), b.g.Template(), b.w, proof.Security{TargetBits: 40, GrindBits: 2, Hash: suite}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		l, machines, streams, closeAll := c.open(dev)
		in, wit := b.g.Instance, wit
		if strings.Contains(name, "hidden") {
			in.HiddenInputs = []int{0}
			p, err := key.HidingPlan(in, 3)
			if err != nil {
				t.Fatal(err)
			}
			if wit, err = forward.Restate(t.Context(), nil, b.run(t, rand.New(rand.NewPCG(1, 4))), p.Graph); err != nil {
				t.Fatal(err)
			}
		}
		on := wit
		if c.forward {
			on = b.runOn(t, l, machines, key, wit)
		}
		if strings.Contains(name, "pieces") {
			machines[0].SetMode(device.Mode{Rows: true})
			machines[0].Piece = 1 << 14
		}
		var want, got bytes.Buffer
		hiding := &Hiding{TailLog: 3, seed: &[32]byte{2}}
		if _, err := Prove(t.Context(), key, in, tree, wit, &want, Options{Hiding: hiding}); err != nil {
			t.Fatal(err)
		}
		_, err = Prove(t.Context(), key, in, tree, on, &got, Options{Hiding: hiding, Pool: l})
		if c.forward {
			on.Close()
		}
		worked := machines[0].Traffic().Uploaded > 0
		closeAll()
		if err != nil || !worked || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: another proof, or %v; worked: %v", name, err, worked)
		}
		if _, err := verifier.Verify(key, bytes.NewReader(got.Bytes())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, s := range streams {
			if s.Live() != 0 {
				t.Errorf("%s: %d bytes are left on device %d", name, s.Live(), i)
			}
		}
	}
}

// TestLinkOnDevice: so have links.
func TestLinkOnDevice(t *testing.T) {
	t.Parallel()
	dev := devicetest.Open(t)
	b := layered(4, 2, 12, true)
	from, _ := hidingKey(t, b, b.w, 2, 1)
	to, _ := hidingKey(t, b, b.w, 8, 2)
	from.Hiding.seed = &[32]byte{3}
	want, err := Link(t.Context(), [2]Linked{from, to}, b.w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := rig{capacities: []int{1 << 26}, workers: 1}
	l, machines, _, closeAll := c.open(dev)
	defer closeAll()
	got, err := Link(t.Context(), [2]Linked{from, to}, b.w, Options{Backend: l.Machines[0].Backend})
	if err != nil || machines[0].Traffic().Uploaded == 0 || !bytes.Equal(got.Body, want.Body) {
		t.Errorf("another link, or %v", err)
	}
	if _, err := verifier.VerifyLink(from.Key, to.Key, got, 1); err != nil {
		t.Error(err)
	}
}

// onlyAfter is the fault of a device that is lost after so many operations.
func onlyAfter(n, most int) error {
	if n > most {
		return errOffBus
	}
	return nil
}
