package pipeline

import (
	"bytes"
	"os"
	"testing"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
)

// TestDevice is for a GPU; the host in its place is too slow for so many
// proofs. Many proofs in one process take no more memory than the first, and an
// allocation that fails, anywhere, changes no byte.
func TestDevice(t *testing.T) {
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		t.Skip("PROVE_MODEL_TEST_GPU is not 1")
	}
	gpu := devicetest.Open(t)
	reserved := func() int64 {
		e, ok := gpu.(interface {
			Memory() (kernels.Memory, error)
		})
		if !ok {
			t.Fatal("the device does not tell its memory")
		}
		m, err := e.Memory()
		if err != nil {
			t.Fatal(err)
		}
		if m.Live != 0 {
			t.Errorf("%d bytes are left on the device", m.Live)
		}
		return m.Reserved
	}
	cfg := quick(t)
	if _, err := Prove(t.Context(), cfg, ui.NewPhases(nil, true)); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(cfg.Proof)
	if err != nil {
		t.Fatal(err)
	}
	prove := func(mode string, threshold, failing int) *devicetest.Faulty {
		cfg.GPU, cfg.GPUThreshold, cfg.NoCache = mode, threshold, true
		faulty := devicetest.NewFaulty(gpu, failing)
		dev, err := openDevice(t.Context(), cfg, ui.NewPhases(nil, true), func() (kernels.Device, error) { return faulty, nil })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proveOn(t.Context(), cfg, dev, ui.NewPhases(nil, true)); err != nil {
			t.Fatal(err)
		}
		dev.Close()
		got, err := os.ReadFile(cfg.Proof)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("threshold %d, failing allocation %d: another proof, or %v", threshold, failing, err)
		}
		return faulty
	}
	allocs := prove(config.GPURequire, 0, -1).Allocs()
	first := reserved()
	for range 100 {
		prove(config.GPURequire, 0, -1)
	}
	if now := reserved(); now > first {
		t.Errorf("after 100 proofs the device's pool holds %d bytes, %d after the first", now, first)
	}
	for n := 0; n < allocs; n += max(1, allocs/100) {
		prove(config.GPUAuto, 0, n)
	}
	reserved()
	t.Logf("%d allocations a proof, %d bytes held by the pool", allocs, first)
}
