package hf

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prove-model/prove-model/hf/audio"
)

// The folders of testdata have tiny models of every family with what the reference
// implementation computes. PROVE_MODEL_HF names a folder with more.
func TestFamilies(t *testing.T) {
	dirs := []string{"testdata"}
	if dir := os.Getenv("PROVE_MODEL_HF"); dir != "" {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		expected, err := filepath.Glob(filepath.Join(dir, "*", "expected.json"))
		if err != nil || len(expected) < 1 {
			t.Fatalf("%s: %d models: %v", dir, len(expected), err)
		}
		for _, path := range expected {
			model := filepath.Dir(path)
			t.Run(filepath.Base(dir)+"/"+filepath.Base(model), func(t *testing.T) { compare(t, model, model, "") })
		}
	}
}

// The folders of families/testdata/adapters have adapters to models of testdata, and PROVE_MODEL_ADAPTERS is one with adapters to models
// of PROVE_MODEL_HF (scripts/hf/adapters.py).
func TestAdapters(t *testing.T) {
	for dir, models := range map[string]string{"families/testdata/adapters": "testdata", os.Getenv("PROVE_MODEL_ADAPTERS"): os.Getenv("PROVE_MODEL_HF")} {
		if dir == "" {
			continue
		}
		expected, err := filepath.Glob(filepath.Join(dir, "*", "expected.json"))
		if err != nil || len(expected) < 1 {
			t.Fatalf("%s: %d adapters: %v", dir, len(expected), err)
		}
		for _, path := range expected {
			adapter := filepath.Dir(path)
			name := filepath.Base(adapter)
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) { compare(t, adapter, filepath.Join(models, name), adapter) })
		}
	}
}

// expectation is the input of a model, row-major.
type expectation struct {
	IDs      []float64 `json:"input_ids"`
	Answer   []float64 `json:"decoder_input_ids"`
	Pixels   []float64 `json:"pixel_values"`
	Features []float64 `json:"input_features"` // of a sound, beside Answer
	Audio    string    `json:"audio"`          // a file of the folder, beside Answer
	Texts    int       `json:"texts"`          // of one length, in IDs; 0 for one

	samples []float64 // of Audio
}

// inputs are those of a model, in order.
func (e *expectation) inputs() [][]float64 {
	switch {
	case e.Audio != "":
		return [][]float64{e.Answer, e.samples}
	case e.Features != nil:
		return [][]float64{e.Answer, e.Features}
	case e.Pixels != nil && e.IDs != nil:
		return [][]float64{e.IDs, e.Pixels}
	case e.Pixels != nil:
		return [][]float64{e.Pixels}
	case e.Answer != nil:
		return [][]float64{e.IDs, e.Answer}
	}
	return [][]float64{e.IDs}
}

// compare holds a model, with an adapter unless that is "", against what dir expects.
func compare(t *testing.T, dir, path, adapter string) {
	var want expectation
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	output := readNPY(t, filepath.Join(dir, "expected.npy"))
	if file := filepath.Join(path, "model.gguf"); exists(file) {
		path = file
	}
	m, err := OpenAdapted(path, adapter)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tokens, written := len(want.IDs)/max(1, want.Texts), max(len(want.Answer), want.Texts)
	if want.Features != nil {
		tokens, written = len(want.Answer), 0
	}
	g, err := m.Graph(tokens, written)
	if want.Audio != "" {
		sound, failed := audio.Read(filepath.Join(dir, want.Audio))
		if failed != nil {
			t.Fatal(failed)
		}
		for _, x := range sound.At(m.Speech.Rate) {
			want.samples = append(want.samples, float64(x))
		}
		g, err = m.Listening(len(want.Answer))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	values, err := g.RunFloat(want.inputs())
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, name := range g.Outputs {
		got = append(got, values[name]...)
	}
	if worst := difference(got, output); len(got) != len(output) || !(worst <= 1e-4) {
		t.Errorf("%d numbers differ from %d by %.3g of their range", len(got), len(output), worst)
	} else {
		t.Logf("%d numbers differ by %.2g of their range; %d nodes", len(got), worst, len(g.Nodes))
	}
}

// difference is the greatest difference of two lists, as a part of the range of the
// second.
func difference(got, want []float64) float64 {
	lo, hi, worst := math.Inf(1), math.Inf(-1), 0.0
	for i := range min(len(got), len(want)) {
		lo, hi = min(lo, want[i]), max(hi, want[i])
		worst = max(worst, math.Abs(got[i]-want[i]))
	}
	return worst / (hi - lo)
}

// readNPY reads the float32 numbers of a .npy file.
func readNPY(t *testing.T, path string) []float64 {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	from := 10 + int(data[8]) + int(data[9])<<8
	out := make([]float64, (len(data)-from)/4)
	for i := range out {
		b := data[from+4*i:]
		out[i] = float64(math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
	}
	return out
}
