package bench

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/ui"
)

const digits = "../../testdata/digits/"

// A step of which no bytes are counted can be printed, also before anything is compared with a copy.
func TestDeviceKernelJSON(t *testing.T) {
	var rows []DeviceKernel
	b := &deviceBench{report: func(k DeviceKernel) { rows = append(rows, k) }}
	b.add("step", "value", 1, 0, time.Second)
	b.add("copy", "byte", 1, 4, time.Second)
	b.add("pass", "byte", 1, 2, time.Second)
	if _, err := json.Marshal(rows); err != nil {
		t.Error(err)
	}
	if rows[0].OfCopy != 0 || rows[1].OfCopy != 1 || rows[2].OfCopy != 0.5 {
		t.Errorf("%+v", rows)
	}
}

// The made-up perceptron is one that the whole pipeline takes, with odd sizes
// too, and its figures make sense.
func TestMLP(t *testing.T) {
	cfg := config.Default()
	var rows []ScaleRow
	err := Scale(t.Context(), &cfg, Scaling{Layers: 3, From: 6, To: 8, Tokens: []int{1}}, ui.NewPhases(nil, true), func(r ScaleRow) { rows = append(rows, r) })
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if r.Parameters < 1<<r.Log*3/4 || r.Parameters > 1<<r.Log*2 {
			t.Errorf("%d parameters for 2^%d", r.Parameters, r.Log)
		}
		if r.ProofBytes == 0 || r.Prove <= 0 || r.Commit <= 0 || r.Verify <= 0 || r.Security < 100 || r.RangeError > 0.01 {
			t.Errorf("%+v", r.Model)
		}
	}
	var b bytes.Buffer
	if ScaleRows(rows).Print(&b); strings.Count(b.String(), "\n") != 4 {
		t.Errorf("%s, %v", b.String(), err)
	}
}

// What is wrong with one model is told in its row and leaves the others alone.
func TestFiles(t *testing.T) {
	cfg := config.Default()
	quiet := ui.NewPhases(nil, true)
	all, err := Files(t.Context(), &cfg, []string{digits + "missing.onnx", digits + "digits.onnx"}, Limits{RangeError: 0.01, Cosine: 0.999}, 2, 3, quiet)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if all[0].Error == "" || all[1].Error != "" {
		t.Errorf("errors %q and %q", all[0].Error, all[1].Error)
	}
	if l := all[1].List; l == nil || l.Inputs != 3 || l.Alone <= 0 || l.List <= 0 {
		t.Errorf("list: %+v", l)
	}
	if n := len(all[1].Phases); n == 0 || all[1].Phases[n-1].Name != "open" || slices.IndexFunc(all[1].Phases, func(p ui.Phase) bool { return p.Name == "open" }) != n-1 {
		t.Errorf("not the phases of one proof: %v", all[1].Phases)
	}
	if err := all.Failures(); err == nil || !strings.Contains(err.Error(), "missing.onnx") || strings.Contains(err.Error(), "digits.onnx:") {
		t.Errorf("failures: %v", err)
	}
	var b bytes.Buffer
	if all.Print(&b); !strings.Contains(b.String(), "18586") {
		t.Errorf("%s, %v", b.String(), err)
	}
	all, err = Files(t.Context(), &cfg, []string{digits + "digits.onnx"}, Limits{RangeError: 1e-9}, 1, 0, quiet)
	if err != nil || !strings.Contains(all[0].Error, "over 0.000 %") {
		t.Errorf("limit on the error: %q, %v", all[0].Error, err)
	}
}

// The quantised digits model is as good as the float one on the whole test set.
func TestDigitsAccuracy(t *testing.T) {
	if testing.Short() {
		t.Skip("1080 runs of the model")
	}
	for _, mode := range []string{config.ModeAuto, config.ModeW8A8} {
		cfg := config.Default()
		cfg.Model, cfg.Calibration, cfg.Mode = digits+"digits.onnx", []string{digits + "calibration.json"}, mode
		a, err := MeasureAccuracy(t.Context(), &cfg, digits+"test.json", ui.NewPhases(nil, true))
		if err != nil {
			t.Fatal(err)
		}
		if a.Samples != 540 || a.Float < 0.97 || a.Quantised < 0.97 || a.Agreement < 0.99 {
			t.Errorf("%s: %v", mode, a)
		}
	}
}

func TestAccuracyRefusals(t *testing.T) {
	cfg := config.Default()
	cfg.Model = digits + "digits.onnx"
	for _, test := range []string{digits + "missing.json", digits + "calibration.json"} { // the second has no labels
		if _, err := MeasureAccuracy(t.Context(), &cfg, test, ui.NewPhases(nil, true)); err == nil {
			t.Errorf("%s: accepted", test)
		}
	}
}

func TestMadeModelsDependOnTheirSizeAlone(t *testing.T) {
	a, err := MLP(2, 8)
	if err != nil {
		t.Fatal(err)
	}
	b, err := MLP(2, 8)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range a.Consts {
		for i, x := range c.F32 {
			if x != b.Consts[name].F32[i] {
				t.Fatalf("%s[%d] differs", name, i)
			}
		}
	}
	if n := provemodel.NewModel(a).Parameters(); n != 2*(8*8+8) {
		t.Error(n)
	}
}
