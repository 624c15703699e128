package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// Runs of real models, and whether they are warned about: tiny language models in eight bits by what they say of next tokens, however
// far single logits are off, and classifiers by their labels and their range.
func TestPoorCopies(t *testing.T) {
	models, err := filepath.Abs("../../hf/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write := func(name string, data []byte) {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// y = x for four classes.
	m := smallModel()
	m.Graph.Node = []*onnxpb.NodeProto{node("MatMul", "scores", []string{"x", "W"}, "y")}
	w := tensor("W", 4, 4)
	for i := range 4 {
		w.FloatData[5*i] = 1
	}
	m.Graph.Initializer, m.Graph.Output[0] = []*onnxpb.TensorProto{w}, value("y", 1, 4)
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	write("scores.onnx", data)
	write("tokens.json", []byte(`{"input_ids": [1, 5, 9, 3]}`))
	write("plain.json", []byte(`[[0.1, 0.9, -1, 0.3]]`))
	write("tie.json", []byte(`[[0.90001, 0.90002, -1, 0.3]]`))
	write("clipped.json", []byte(`[[9.1, 9.6, -1, 0.3]]`)) // both classes end at the calibrated range

	for _, tc := range []struct {
		name     string
		line     string
		judge    string
		within   bool
		why      string // in the warning
		farRange bool   // an output is off by more than 1 % of its range
		other    bool   // the label is not the float model's
	}{
		{"logits that are off by 6 % with all tokens right", "--model MODELS/llama --tokens-file tokens.json --mode w8a8", byLogits, true, "", true, false},
		{"logits with a KL of 0.016", "--model MODELS/gpt2 --tokens-file tokens.json --mode w8a8", byLogits, false, "KL 0.016 OF ITS NEXT TOKENS, MORE THAN 0.01", true, false},
		{"logits that --max-error allows", "--model MODELS/gpt2 --tokens-file tokens.json --mode w8a8 --max-error 0.05", byMaxError, true, "", true, false},
		{"a label that is right", "--model scores.onnx --input plain.json --calibration plain.json", byRange, true, "", false, false},
		{"another label at a tie", "--model scores.onnx --input tie.json --calibration plain.json --mode w8a8", byRange, true, "", false, true},
		{"another label at a margin", "--model scores.onnx --input clipped.json --calibration plain.json", byRange, false, "y IS OFF BY", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			os.Remove("p.vk") // whose replacement is warned about
			line := append(strings.Fields(strings.ReplaceAll(tc.line, "MODELS", models)), "--no-cache", "--quiet", "--json", "--proof", "p.proof", "--vk", "p.vk")
			var stdout, stderr bytes.Buffer
			if code := run(line, &stdout, &stderr); code != program.ExitOK {
				t.Fatalf("exit code %d, %s", code, stderr.String())
			}
			var p proved
			if err := json.Unmarshal(stdout.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			o := p.Outputs[0]
			if p.WithinBar != tc.within || p.JudgedBy != tc.judge || o.RangeError > acceptedRange != tc.farRange || o.LabelRegret > 0 != tc.other {
				t.Errorf("within the bar %v by %s, range error %v, label regret %v", p.WithinBar, p.JudgedBy, o.RangeError, o.LabelRegret)
			}
			if warned := stderr.Len() > 0; warned == tc.within || !strings.Contains(stderr.String(), tc.why) {
				t.Errorf("warning: %q", stderr.String())
			}
		})
	}
}

// What cannot be had of a small model in two lines: labels and tokens that are wrong while ranges are right.
func TestFidelity(t *testing.T) {
	tensor := func(values ...float64) provemodel.Tensor {
		return provemodel.Tensor{Name: "y", Shape: []int{1, len(values)}, Values: values}
	}
	judge := func(cfg config.Config, got, float provemodel.Tensor, logits likeness) *proved {
		a, err := provemodel.Compare(got, float)
		if err != nil {
			t.Fatal(err)
		}
		outputs := []compared{{got, float.Values, a, labelRegret(got, float)}}
		return &proved{judged: judged{outputs, fidelityOf(&cfg, outputs, logits, nil), logits}}
	}
	labels := tensor(7000, 6, 5)
	labels.Integers = true
	choices := labels
	choices.Margins = []float64{0.3, 0.004, 0.2}
	wrong, float := tensor(0.992, 0.991, 0), tensor(0.984, 1, 0)
	for name, tc := range map[string]struct {
		p      *proved
		within bool
		why    string
	}{
		"an integer off by one":            {judge(config.Default(), tensor(7000, 7, 5), labels, likeness{}), false, "1 OF THE 3 INTEGERS OF y ARE NOT THE FLOAT MODEL'S: ENTRY 1 IS 7, AND 6 THERE"},
		"a choice at a tie":                {judge(config.Default(), tensor(7000, 1, 5), choices, likeness{}), true, ""},
		"a choice at a tie, --max-error":   {judge(config.Config{MaxError: 1e-3}, tensor(7000, 1, 5), choices, likeness{}), true, ""},
		"a choice at a margin":             {judge(config.Default(), tensor(7001, 1, 5), choices, likeness{}), false, "1 OF THE 3 INTEGERS OF y ARE NOT THE FLOAT MODEL'S: ENTRY 0 IS 7001, AND 7000 THERE"},
		"the same, --max-error":            {judge(config.Config{MaxError: 1e-3}, tensor(7001, 1, 5), choices, likeness{}), false, "1 OF THE 3 INTEGERS OF y"},
		"integers that are equal":          {judge(config.Default(), labels, labels, likeness{}), true, ""},
		"wrong label at a margin of 1.6 %": {judge(config.Default(), wrong, float, likeness{}), false, "THE LABEL OF y IS ONE THAT THE FLOAT MODEL HAS 1.6 % OF THE RANGE BEHIND ITS OWN, MORE THAN 1 %"},
		"the same with --max-error":        {judge(config.Config{MaxError: 0.02}, wrong, float, likeness{}), true, ""},
		"wrong label at a tie":             {judge(config.Default(), tensor(1, 0.999, 0), tensor(0.995, 1, 0), likeness{}), true, ""},
		"a token at a margin":              {judge(config.Default(), wrong, float, likeness{KL: new(float64), Regret: ptr(0.7)}), false, "THE FLOAT MODEL HAS 0.7 BEHIND ITS OWN IN LOGITS, MORE THAN 0.5"},
		"tokens near a tie":                {judge(config.Default(), wrong, float, likeness{KL: ptr(0.00075), Regret: ptr(0.1)}), true, ""},
	} {
		if tc.p.WithinBar != tc.within || !strings.Contains(tc.p.warning(), tc.why) || (tc.p.warning() == "") != tc.within {
			t.Errorf("%s: %v, %s", name, tc.p.WithinBar, tc.p.warning())
		}
	}
	near := labels
	near.NearWhole = 2
	if p := judge(config.Default(), labels, near, likeness{}); !p.WithinBar || !strings.Contains(p.warning(), "y FOLLOWS FROM 2 VALUES THAT ARE CAST") {
		t.Errorf("casts near a whole number: %v, %q", p.WithinBar, p.warning())
	}
	beyond := labels
	beyond.Beyond = 3
	if p := judge(config.Default(), labels, beyond, likeness{}); !p.WithinBar || !strings.Contains(p.warning(), "y FOLLOWS FROM 3 VALUES THAT FLOAT32 HAS") {
		t.Errorf("numbers beyond float32: %v, %q", p.WithinBar, p.warning())
	}
	tie := judge(config.Default(), tensor(7000, 1, 5), choices, likeness{}).Outputs[0]
	if got, want := labelsOf(tie.Accuracy, tie.Values, tie.Float), "1 of 3 labels, 1 of them ties: entry 1 is 1, and 6 in the float model, "+
		"whose two greatest scores there are 0.4 % of their range apart"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	for _, shape := range [][]int{{3}, {1, 1}, {1, 2, 3}, {}, {2, 3, 4, 1}} {
		if n := classesOf(shape); n != 0 {
			t.Errorf("%v has %d classes", shape, n)
		}
	}
	if n := classesOf([]int{5, 7, 1, 1}); n != 7 {
		t.Error(n)
	}
	rows := provemodel.Tensor{Shape: []int{2, 2}, Values: []float64{1, 0, 0, 1}}
	if r := labelRegret(rows, provemodel.Tensor{Shape: []int{2, 2}, Values: []float64{1, 0, 0.5, 0}}); fmt.Sprint(r) != "0.5" {
		t.Errorf("the second row's regret is %v", r)
	}
}

func ptr(x float64) *float64 { return &x }
