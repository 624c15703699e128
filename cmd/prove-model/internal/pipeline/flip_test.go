package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/onnx"
)

// A proof of a real model with any byte changed does not verify, nor does one
// with a changed key, nor for another input.
func TestEveryByteCounts(t *testing.T) {
	flips := 1000
	if testing.Short() {
		flips = 100
	}
	cfg := settings(t)
	if _, err := Prove(context.Background(), cfg, ui.NewPhases(nil, true)); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(cfg); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, path := range []string{cfg.Proof, cfg.VK} {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := filepath.Join(t.TempDir(), "bad")
		local := *cfg
		if path == cfg.Proof {
			local.Proof = bad
		} else {
			local.VK = bad
		}
		for range flips {
			data := bytes.Clone(good)
			at, bit := rng.IntN(len(data)), byte(1)<<rng.IntN(8)
			data[at] ^= bit
			if err := os.WriteFile(bad, data, 0o600); err != nil {
				t.Fatal(err)
			}
			result, err := Verify(&local)
			var invalid *NotValid
			if !errors.As(err, &invalid) || result.Valid || result.Reason == "" {
				t.Fatalf("%s with bit %#x of byte %d changed: %+v, %v", filepath.Base(path), bit, at, result, err)
			}
		}
	}
}

func TestOtherInput(t *testing.T) {
	cfg := settings(t)
	if _, err := Prove(context.Background(), cfg, ui.NewPhases(nil, true)); err != nil {
		t.Fatal(err)
	}
	good, err := onnx.ReadInputs(cfg.Input)
	if err != nil {
		t.Fatal(err)
	}
	// The least change that survives rounding, 2^-10 for this model.
	for i := range good[0].Values {
		old := good[0].Values[i]
		good[0].Values[i] += 1.0 / 1024
		local := *cfg
		local.Input = filepath.Join(cfg.CacheDir, "other.json")
		data, err := json.Marshal(map[string]any{"input_data": good.Data()})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(local.Input, data, 0o600); err != nil {
			t.Fatal(err)
		}
		good[0].Values[i] = old
		var invalid *NotValid
		if _, err := Verify(&local); !errors.As(err, &invalid) {
			t.Fatalf("with pixel %d changed: %v", i, err)
		}
	}
}
