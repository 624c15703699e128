package bench

import (
	"bytes"
	"os"
	"testing"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/pipeline"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/backend/cuda"
	"github.com/prove-model/prove-model/prover/plan"
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
	src := pipeline.Made(g, 1)
	ph := ui.NewPhases(nil, true)
	var preps [2]*pipeline.Prepared
	var runs [2]*pipeline.Run
	for i, where := range []string{config.GPUOff, config.GPURequire} {
		cfg := config.Default()
		cfg.NoCache, cfg.GPU, cfg.GPUThreshold = true, where, 0
		dev, err := pipeline.OpenDevice(t.Context(), &cfg, ph)
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		if preps[i], err = pipeline.Prepare(t.Context(), &cfg, dev, src, ph); err != nil {
			t.Fatal(err)
		}
		if runs[i], err = preps[i].Prove(t.Context(), dev, src, ph); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(preps[0].KeyBytes, preps[1].KeyBytes) {
		t.Error("another key")
	}
	if !bytes.Equal(runs[0].Proof, runs[1].Proof) {
		t.Error("another proof")
	}
	key := preps[1].Key
	p, err := plan.ForKey(key, preps[1].Model.Graph)
	if err != nil {
		t.Fatal(err)
	}
	m := cuda.NewMachine(gpu)
	m.Limit(0, 1<<30) // pieces as large as the command's
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
