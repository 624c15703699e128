package bench

import (
	"bytes"
	"os"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/machine/cuda"
)

// TestDeviceMLP is for a GPU: key and proof of the perceptron of 67 million
// parameters are the CPU's byte for byte, and the memory they take is what is
// estimated: at most that, and at least half.
func TestDeviceMLP(t *testing.T) {
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		t.Skip("PROVE_MODEL_TEST_GPU is not 1")
	}
	gpu, ok := devicetest.Open(t).(interface {
		kernels.Device
		Memory() (kernels.Memory, error)
		ResetPeaks() error
	})
	if !ok {
		t.Fatal("the device does not tell its memory")
	}
	if err := gpu.ResetPeaks(); err != nil {
		t.Fatal(err)
	}
	g, err := MLP(4, 4096)
	if err != nil {
		t.Fatal(err)
	}
	j := job.Made(g, 1)
	ph := ui.NewPhases(nil, true)
	var keys [2]*provemodel.Committed
	var proofs [2]*provemodel.Proof
	for i, where := range []string{config.GPUOff, config.GPURequire} {
		cfg := config.Default()
		cfg.NoCache, cfg.NoSelfCheck, cfg.GPU, cfg.GPUThreshold = true, true, where, 0
		dev, err := job.OpenDevice(t.Context(), &cfg, ph)
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		opts := job.OptionsOf(&cfg, ph, dev)
		circuit, err := j.Quantise(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if keys[i], err = provemodel.Commit(t.Context(), circuit, &opts.Commit); err != nil {
			t.Fatal(err)
		}
		if proofs[i], err = provemodel.Prove(t.Context(), keys[i], j.Input, &opts.Prove); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(keys[0].KeyFile(), keys[1].KeyFile()) {
		t.Error("another key")
	}
	if !bytes.Equal(proofs[0].File, proofs[1].File) {
		t.Error("another proof")
	}
	p, err := keys[1].Key().Plan(keys[1].Circuit().Graph().Instance)
	if err != nil {
		t.Fatal(err)
	}
	m := cuda.NewMachine(gpu)
	m.Piece = 1 << 30 // pieces as large as the command's
	need := m.Need(p)
	memory, err := gpu.Memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes at most, estimated %d: %+v", memory.Peak, need.Peak(), *need)
	if memory.Peak > need.Peak() || need.Peak() > 2*memory.Peak {
		t.Errorf("%d bytes at most, estimated %d", memory.Peak, need.Peak())
	}
}
