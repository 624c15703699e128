package onnxruntime

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// standIn makes a program that takes the place of Python.
func standIn(t *testing.T, script string) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PROVE_MODEL_PYTHON", path)
}

func TestRunRefused(t *testing.T) {
	for script, want := range map[string]string{
		"cat >/dev/null; echo first >&2; echo 'no such input' >&2; exit 1": "ONNX Runtime: no such input",
		"cat >/dev/null; exit 3":    "exit status 3",
		"cat >/dev/null; echo '['":  "unexpected end of JSON",
		"cat >/dev/null; echo '[]'": "0 outputs of 1",
	} {
		standIn(t, script)
		if _, err := Run(t.Context(), "m.onnx", nil, []string{"y"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
	standIn(t, "sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, "m.onnx", nil, []string{"y"}); err != context.Canceled {
		t.Error(err)
	}
}

// TestDigits runs a real model with the real library, which make drawn has.
func TestDigits(t *testing.T) {
	python := os.Getenv("PROVE_MODEL_PYTHON")
	if exec.Command(python, "-c", "import onnxruntime").Run() != nil {
		t.Skip("PROVE_MODEL_PYTHON names no interpreter with onnxruntime")
	}
	model, err := filepath.Abs("../../testdata/digits/digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 64)
	for i := range x {
		x[i] = float64(i%17) / 16
	}
	out, err := Run(t.Context(), model, map[string]Array{"image": {nil, x}}, []string{"logits"})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != 1 || out[0].Name != "logits" || len(out[0].Values) != 10 || len(out[0].Shape) != 2 {
		t.Fatalf("%+v", out)
	}
	for _, v := range out[0].Values {
		if v == 0 || math.Abs(v) > 1000 || float64(float32(v)) != v {
			t.Errorf("%v is no float32 of a plausible size", v)
		}
	}
	if _, err := Run(t.Context(), model, nil, []string{"logits"}); err == nil || !strings.Contains(err.Error(), "image") {
		t.Errorf("without an input: %v", err)
	}
}
