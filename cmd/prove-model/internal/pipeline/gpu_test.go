package pipeline

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
)

var errNoDriver = errors.New("no driver on this machine")

// Where there is no GPU, a wish for one is a warning and a demand an error.
func TestNoGPU(t *testing.T) {
	none := func() (kernels.Device, error) { return nil, errNoDriver }
	var said bytes.Buffer
	cfg := settings(t)
	cfg.GPU = config.GPUAuto
	dev, err := openDevice(t.Context(), cfg, ui.NewPhases(&said, false), none)
	if err != nil || dev.usable() || !strings.Contains(said.String(), errNoDriver.Error()) {
		t.Errorf("%v, said %q", err, &said)
	}
	cfg.GPU = config.GPURequire
	if _, err := openDevice(t.Context(), cfg, ui.NewPhases(nil, true), none); !errors.Is(err, errNoDriver) {
		t.Errorf("required: %v", err)
	}
}

// quick are settings with little to grind and small tables: the host in place of
// a GPU is slow.
func quick(t *testing.T) *config.Config {
	cfg := settings(t)
	cfg.SecurityBits, cfg.GrindBits, cfg.Mode = 60, 8, config.ModeW8A8
	return cfg
}

// proofOn proves a digit on a device and returns the proof and what was said.
func proofOn(t *testing.T, gpu string, d kernels.Device) ([]byte, string, error) {
	t.Helper()
	var said bytes.Buffer
	ph := ui.NewPhases(&said, false)
	cfg := quick(t)
	cfg.GPU, cfg.GPUThreshold, cfg.NoCache = gpu, 1<<12, true
	dev, err := openDevice(t.Context(), cfg, ph, func() (kernels.Device, error) { return d, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if _, err := proveOn(t.Context(), cfg, dev, ph); err != nil {
		if _, e := os.Stat(cfg.Proof); e == nil {
			t.Error("an error, and a proof file")
		}
		return nil, said.String(), err
	}
	proof, err := os.ReadFile(cfg.Proof)
	return proof, said.String(), err
}

// A proof has the same bytes on a device, on one that fails on the way, and on
// none; a required device that fails is an error that leaves no file.
func TestGPU(t *testing.T) {
	cfg := quick(t)
	if _, err := Prove(t.Context(), cfg, ui.NewPhases(nil, true)); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(cfg.Proof)
	if err != nil {
		t.Fatal(err)
	}
	d := devicetest.Open(t)
	sound := devicetest.NewFaulty(d, -1)
	got, said, err := proofOn(t, config.GPURequire, sound)
	if err != nil || !bytes.Equal(got, want) || strings.Contains(said, "warning") {
		t.Errorf("another proof, or %v, said %q", err, said)
	}
	if sound.Live() != 0 {
		t.Errorf("%d bytes are left on the device", sound.Live())
	}
	if sound.Allocs() == 0 {
		t.Fatal("nothing ran on the device")
	}
	n := sound.Allocs() / 2
	faulty := devicetest.NewFaulty(d, n)
	got, said, err = proofOn(t, config.GPUAuto, faulty)
	if err != nil || !bytes.Equal(got, want) || strings.Count(said, "warning") != 1 {
		t.Errorf("allocation %d fails: another proof, or %v, said %q", n, err, said)
	}
	if faulty.Live() != 0 {
		t.Errorf("allocation %d fails: %d bytes are left on the device", n, faulty.Live())
	}
	if _, _, err := proofOn(t, config.GPURequire, devicetest.NewFaulty(d, n/4)); !errors.Is(err, devicetest.ErrInjected) {
		t.Errorf("required, allocation %d fails: %v", n/4, err)
	}
}
