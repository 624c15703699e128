package provemodel

import (
	stdflag "flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx"
)

var full = stdflag.Bool("full", false, "run every operator model in every mode, not in one of them; make full does")

// coarse are models that are beyond w8a8's bar: steps, poles, and powers of what was rounded to eight bits.
var coarse = []string{"acosh", "cast_float8", "cast_to_int", "floor_computed", "grid_sample_bilinear_computed", "less_computed", "log_bands",
	"log_bands_of_parts", "log_bands_plus", "log_power", "log_power_of_root", "softmax_by_logsumexp_rows"}

// Every operator model is quantised and run in every mode, in one of them without -full, and is about as near the float model as the mode
// should be: how near, tests of single operators hold.
func TestOperatorsInEveryMode(t *testing.T) {
	paths, _ := filepath.Glob("onnx/testdata/operators/*.onnx")
	if len(paths) < 100 {
		t.Fatalf("only %d models", len(paths))
	}
	modes := []struct {
		name string
		bar  float64 // of the output's range
	}{{"w8a8", 0.05}, {"exact", 0.002}, {"auto", 0.01}}
	for i, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		if testing.Short() && i%8 > 0 && !strings.HasPrefix(name, "bitwise") {
			continue
		}
		in, err := onnx.ReadInputs(strings.TrimSuffix(path, ".onnx") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		for k, mode := range modes {
			if !*full && k != i%len(modes) && !strings.HasPrefix(name, "bitwise") {
				continue
			}
			if mode.name == "w8a8" && slices.Contains(coarse, name) {
				mode.bar = math.Inf(1)
			}
			if err := inMode(t, path, in, mode.name, mode.bar); err != nil {
				t.Errorf("%s, %s: %v", name, mode.name, err)
			}
		}
	}
}

func inMode(t *testing.T, path string, in Arrays, mode string, bar float64) error {
	m, err := Open(path, &OpenOptions{Input: in})
	if err != nil {
		return err
	}
	defer m.Close()
	c, err := Quantise(t.Context(), m, []Input{in.Data()}, quantiseWith(withMode(mode)))
	if err != nil {
		return err
	}
	float, err := m.Run(t.Context(), in.Data())
	if err != nil {
		return err
	}
	run, err := c.Run(t.Context(), in.Data())
	if err != nil {
		return err
	}
	for i, f := range float {
		a, err := Compare(run.Outputs[i], f)
		if err != nil {
			return err
		}
		if !(a.RangeError <= bar) {
			return fmt.Errorf("output %q is off by %.3g %% of its range", f.Name, 100*a.RangeError)
		}
	}
	return nil
}
