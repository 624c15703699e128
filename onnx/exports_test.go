package onnx

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExports runs language models as torch exports them (scripts/onnx/exports.py)
// and compares their logits with those of onnxruntime.
func TestExports(t *testing.T) {
	paths, _ := filepath.Glob("testdata/exports/*.onnx")
	if len(paths) != 7 {
		t.Fatalf("%d exports", len(paths))
	}
	for _, path := range paths {
		file := strings.TrimSuffix(path, ".onnx") + ".json"
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want expected
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		in, err := ReadInputs(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Load(path, in.Options(nil))
		if err != nil {
			t.Fatal(err)
		}
		checkNormal(t, g)
		if n := g.Rows(g.Inputs[0].Name); n != 61 {
			t.Errorf("%s: %d tokens", path, n)
		}
		values, err := g.RunFloat(in.Data())
		if err != nil {
			t.Fatal(err)
		}
		got := values[g.Outputs[0]]
		for i, w := range want.Data[0] {
			if d := got[i] - w; d > 2e-5 || d < -2e-5 {
				t.Errorf("%s: logit %d is %v, not %v", path, i, got[i], w)
				break
			}
		}
	}
}
