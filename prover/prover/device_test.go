package prover

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// TestDevice compares whole proofs made on a device with those of the CPU, byte
// by byte, and looks for memory left behind.
func TestDevice(t *testing.T) {
	t.Parallel()
	dev := devicetest.NewFaulty(devicetest.Open(t), -1)
	chunks, sec := []int{0, 200}, proof.DefaultSecurity
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		chunks = chunks[:1]                                // the host takes seconds for each
		sec = proof.Security{TargetBits: 30, GrindBits: 4} // and for a proof of work
	}
	for _, chunk := range chunks {
		rng := rand.New(rand.NewPCG(uint64(chunk), 1))
		b := everything(rng)
		b.g.Finish(chunk)
		wit := b.run(t, rng)
		machine := cuda.NewMachine(dev)
		device := Options{Backend: func(g *model.Graph, w backend.Witness) backend.Backend { return machine.Backend(g, w) }}
		var proofs [2]bytes.Buffer
		for i, opts := range []Options{{}, device} {
			key, tree, err := Commit(context.Background(), b.g.Template(), b.w, sec, opts)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Prove(context.Background(), key, b.g.Instance, tree, wit, &proofs[i], opts); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(proofs[0].Bytes(), proofs[1].Bytes()) {
			t.Fatalf("%d chunks: the proofs differ", b.g.Chunks)
		}
		machine.Close()
		if n := dev.Live(); n != 0 {
			t.Fatalf("%d chunks: %d bytes are left on the device", b.g.Chunks, n)
		}
	}
}
