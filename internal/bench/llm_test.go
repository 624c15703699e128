package bench

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/internal/resident"
	"github.com/prove-model/prove-model/internal/ui"
)

// The shapes have the parameters of the models that they are named after.
func TestShapes(t *testing.T) {
	for name, want := range map[string]float64{"qwen3-14b": 14.768e9, "llama2-7b": 6.738e9, "smollm2": 134.5e6, "llama3.2-3b": 3.213e9, "gpt2": 124.4e6, "qwen3-30b-a3b": 30.53e9, "mixtral-quarter": 2.919e9} {
		s, n := Shapes[name], 0
		for _, d := range s.tensors(s.Layers) {
			n += graph.Size(d.shape)
		}
		if math.Abs(float64(n)/want-1) > 1e-3 {
			t.Errorf("%s has %d parameters, not %g", name, n, want)
		}
	}
	if len(Shapes) != 7 {
		t.Errorf("shapes %v", ShapeNames())
	}
}

// small shapes, one of each kind.
var small = []*Shape{
	decoder("a", "qwen3", gated{layers: 2, width: 40, heads: 4, groups: 2, dim: 16, inner: 48, vocabulary: 50, headNorms: true}, map[string]any{"max_position_embeddings": 32}),
	decoder("b", "llama", gated{layers: 2, width: 40, heads: 4, groups: 4, dim: 10, inner: 48, vocabulary: 50, tied: true}, map[string]any{"max_position_embeddings": 32}),
	gpt2Shape("c", 2, 40, 4, 32, 50),
	decoder("d", "mixtral", gated{layers: 2, width: 40, heads: 4, groups: 2, dim: 16, inner: 24, vocabulary: 50, experts: 3, router: "block_sparse_moe.gate",
		expert: "block_sparse_moe.experts.%d.", gate: "w1", up: "w3", down: "w2"}, map[string]any{"max_position_embeddings": 32, "num_local_experts": 3, "num_experts_per_tok": 2}),
}

// What is drawn depends on shape, layers and seed alone, and is a model that opens; its
// outliers are there.
func TestDraw(t *testing.T) {
	quiet := ui.NewPhases(nil, true)
	for _, s := range small {
		dir := t.TempDir()
		path, err := s.Draw(t.Context(), dir, 1, 5, quiet)
		if err != nil {
			t.Fatal(err)
		}
		m, err := hf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if m.Layers != 1 || m.Context != s.Context() {
			t.Errorf("%s: %d layers, %d tokens", s.Name, m.Layers, m.Context)
		}
		if _, err := m.Graph(3, 0); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		for _, d := range s.tensors(1) {
			if d.part != embedding {
				continue
			}
			v, err := m.Weights.Get(d.name).Floats()
			if err != nil {
				t.Fatal(err)
			}
			var large, usual float64
			for i, x := range v {
				if i%40 == 3 {
					large += float64(x * x)
				} else if i%40 == 4 {
					usual += float64(x * x)
				}
			}
			if ratio := math.Sqrt(large / usual); ratio < 12 || ratio > 30 {
				t.Errorf("%s: an outlier is %.3g times as large", s.Name, ratio)
			}
		}
		m.Close()
		read := func(path string) []byte {
			data, err := os.ReadFile(filepath.Join(path, "model.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		first := read(path)
		procs := runtime.GOMAXPROCS(1)
		again, err := s.Draw(t.Context(), t.TempDir(), 1, 5, quiet)
		runtime.GOMAXPROCS(procs)
		if err != nil || !bytes.Equal(read(again), first) {
			t.Errorf("%s: other weights, %v", s.Name, err)
		}
		other, err := s.Draw(t.Context(), dir, 1, 6, quiet)
		if err != nil || other == path || bytes.Equal(read(other), first) {
			t.Errorf("%s: another seed gives %s, %v", s.Name, other, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "part-*")); err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
	}
}

// A model in several files is the one that is in a single file.
func TestDrawShards(t *testing.T) {
	quiet := ui.NewPhases(nil, true)
	s, dir := small[0], t.TempDir()
	whole, err := s.Draw(t.Context(), dir, 2, 5, quiet)
	if err != nil {
		t.Fatal(err)
	}
	parts := t.TempDir()
	if err := s.write(t.Context(), parts, 2, 5, 9000, quiet); err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(parts, "model-*.safetensors")); err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	a, err := hf.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := hf.Open(parts)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if !slices.Equal(a.Weights.Names(), b.Weights.Names()) {
		t.Fatal("other tensors")
	}
	for _, name := range a.Weights.Names() {
		if !bytes.Equal(a.Weights.Get(name).Raw, b.Weights.Get(name).Raw) {
			t.Errorf("%s differs", name)
		}
	}
}

// The numbers that are drawn have the mean and the deviation that they are said to have.
func TestNormal(t *testing.T) {
	d := drawn{"x", []int{1 << 9, 1 << 8}, inner, 1}
	data := make([]byte, 2*graph.Size(d.shape))
	d.draw(data, 0, d.scales(1), 7)
	var sum, squares float64
	for i := 0; i < len(data); i += 2 {
		v := float64(math.Float32frombits(uint32(data[i])<<16 | uint32(data[i+1])<<24))
		sum, squares = sum+v, squares+v*v
	}
	n := float64(graph.Size(d.shape))
	if deviation := math.Sqrt(squares/n) * 16; math.Abs(deviation-1) > 0.01 || math.Abs(sum/n) > 1e-3 {
		t.Errorf("mean %g, deviation %g", sum/n, deviation)
	}
	if bfloat16(1) != 0x3f80 || bfloat16(math.Float32frombits(0x3f808000)) != 0x3f80 || bfloat16(math.Float32frombits(0x3f818000)) != 0x3f82 {
		t.Error("bfloat16 does not round to even")
	}
}

func TestMeasureLLM(t *testing.T) {
	cfg := config.Default()
	cfg.CacheDir, cfg.Mode = t.TempDir(), config.ModeW8A8
	m, err := MeasureLLM(t.Context(), &cfg, LLMOptions{Shape: small[0], Layers: 1, Tokens: []int{1, 3, 4}, Runs: 2, Float: 3}, ui.NewPhases(nil, true))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Runs) != 6 || m.MostTokens != 4 || m.Parameters < 10000 || m.Stored < 20000 || m.KeyBytes == 0 {
		t.Errorf("%+v", m)
	}
	for i, r := range m.Runs {
		if r.Tokens != []int{1, 1, 3, 3, 4, 4}[i] || r.Prove <= 0 || r.Verify <= 0 || r.ProofBytes == 0 || (r.RangeError == nil) != (r.Tokens > 3) || r.RangeError != nil && *r.RangeError > 0.2 {
			t.Errorf("%+v", r)
		}
	}
	var b bytes.Buffer
	if m.Print(&b); strings.Count(b.String(), "\n") < 12 || !strings.Contains(b.String(), "commit witness s") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestMeasureWriting(t *testing.T) {
	cfg := config.Default()
	cfg.CacheDir, cfg.Mode = t.TempDir(), config.ModeW8A8
	w, err := MeasureWriting(t.Context(), &cfg, WritingOptions{Shape: small[0], Layers: 1, Prompt: 3, Tokens: 4, Runs: 2}, ui.NewPhases(nil, true))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Runs) != 2 || len(w.Phases) < 3 || w.Parameters < 10000 {
		t.Errorf("%+v", w)
	}
	for _, r := range w.Runs {
		if r.First <= 0 || r.Token <= 0 || r.PerSecond <= 0 {
			t.Errorf("%+v", r)
		}
	}
	var b bytes.Buffer
	if w.Print(&b); strings.Count(b.String(), "\n") < 8 || !strings.Contains(b.String(), "tokens/s") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A text that is proved in segments is measured, and in one proof: that of the first segment, and of the whole, takes what it takes, and a
// chain's proofs verify.
func TestMeasureSegments(t *testing.T) {
	cfg := config.Default()
	cfg.CacheDir = t.TempDir()
	m, err := MeasureSegments(t.Context(), &cfg, SegmentsOptions{Shape: small[1], Layers: 1, Lengths: []int{4, 4, 4}, Whole: true, Again: true}, ui.NewPhases(nil, true))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Runs) != 3 || m.Verify == 0 || m.Reopen == 0 || m.Again == 0 || m.Runs[2].Stored == 0 || m.Runs[2].Before != 8 || m.Whole == nil || m.Whole.ProofBytes == 0 || m.Runs[2].ProofBytes < m.Runs[0].ProofBytes {
		t.Errorf("%+v", m)
	}
	var b bytes.Buffer
	if m.Print(&b); !strings.Contains(b.String(), "whole") {
		t.Errorf("%v: %s", err, &b)
	}
}

// Texts are proved alone and in one proof: the first alone is not counted, and one proof of three is less than three.
func TestMeasureTexts(t *testing.T) {
	cfg := config.Default()
	cfg.CacheDir = t.TempDir()
	m, err := MeasureTexts(t.Context(), &cfg, TextsOptions{Shape: small[1], Layers: 1, Prompt: 1, Tokens: 1, Texts: 3, Alone: 2}, ui.NewPhases(nil, true))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Alone) != 1 || m.Different != 2 || m.Share <= 0 || m.Together.ProofBytes >= 3*m.Alone[0].ProofBytes || m.Together.Verify <= 0 {
		t.Errorf("%+v", m)
	}
	var b bytes.Buffer
	if m.Print(&b); !strings.Contains(b.String(), "one proof of 3 texts") {
		t.Errorf("%v: %s", err, &b)
	}
}

// A proof that no memory holds is not begun, unless a budget has the rest in files.
func TestFits(t *testing.T) {
	if resident.Available() == 0 {
		t.Skip("the system does not say what memory is free")
	}
	for _, c := range []struct {
		beside, budget int64
		refused        bool
	}{{1 << 20, 0, false}, {1 << 60, 0, true}, {1 << 60, 1 << 30, false}} {
		if err := fits(&provemodel.Estimate{Beside: c.beside}, c.budget); (err != nil) != c.refused {
			t.Errorf("%d bytes, %d: %v", c.beside, c.budget, err)
		}
	}
}
