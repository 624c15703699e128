package provemodel

import (
	stdflag "flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx"
)

var full = stdflag.Bool("full", false, "quantise every operator model in every mode, not in one of them; make full does")

// Every operator model is quantised in the modes that tests of single operators do not take, in
// one of them without -full.
func TestOperatorsInEveryMode(t *testing.T) {
	paths, _ := filepath.Glob("onnx/testdata/operators/*.onnx")
	if len(paths) < 100 {
		t.Fatalf("only %d models", len(paths))
	}
	for i, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		if testing.Short() && i%8 > 0 && !strings.HasPrefix(name, "bitwise") {
			continue
		}
		in, err := onnx.ReadInputs(strings.TrimSuffix(path, ".onnx") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		for k, mode := range []string{"w8a8", "exact"} {
			if !*full && k != i%2 && !strings.HasPrefix(name, "bitwise") {
				continue
			}
			m, err := Open(path, &OpenOptions{Input: in})
			if err != nil {
				t.Fatal(name, err)
			}
			if _, err := Quantise(t.Context(), m, []Input{in.Data()}, quantiseWith(withMode(mode))); err != nil {
				t.Errorf("%s, %s: %v", name, mode, err)
			}
			m.Close()
		}
	}
}
