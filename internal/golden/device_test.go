package golden

import (
	"context"
	"os"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/prover"
)

// TestGoldenOnDevice makes the keys and proofs with the forward pass and all
// steps of the prover on a device: every case on a GPU, on the host those that
// take it seconds.
func TestGoldenOnDevice(t *testing.T) {
	machine := cuda.NewMachine(devicetest.Open(t))
	defer machine.Close()
	on := Machine{Forward: machine, Prover: prover.Options{Backend: func(g *model.Graph, w backend.Witness) backend.Backend {
		return machine.Backend(g, w)
	}}}
	for _, c := range cases(t) {
		if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" && len(c.Want.Proof) > 4<<10 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Compare(context.Background(), on); err != nil {
				t.Fatal(err)
			}
		})
	}
}
