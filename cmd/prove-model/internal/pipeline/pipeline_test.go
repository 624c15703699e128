package pipeline

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
)

const digits = "../../../../testdata/digits/"

// settings prove a digit into a fresh folder.
func settings(t *testing.T) *config.Config {
	cfg := config.Default()
	dir := t.TempDir()
	cfg.Model, cfg.Input, cfg.Calibration = digits+"digits.onnx", digits+"input.json", digits+"calibration.json"
	cfg.Proof, cfg.VK = filepath.Join(dir, "x.proof"), filepath.Join(dir, "x.vk")
	cfg.CacheDir = t.TempDir()
	return &cfg
}

// cancelAfter cancels when a line with the given text is written to it.
type cancelAfter struct {
	text   string
	cancel context.CancelFunc
	seen   bool
}

func (c *cancelAfter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), c.text) {
		c.seen = true
		c.cancel()
	}
	return len(b), nil
}

// Interrupted anywhere, a run ends with the context's error and leaves no file.
func TestInterrupted(t *testing.T) {
	for _, phase := range []string{"calibrate", "quantise", PhaseCommitModel, "run model", "commit witness", "prove", "self-check"} {
		t.Run(phase, func(t *testing.T) {
			cfg := settings(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w := &cancelAfter{text: phase, cancel: cancel}
			if _, err := Prove(ctx, cfg, ui.NewPhases(w, false)); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if !w.seen {
				t.Error("the phase does not exist")
			}
			list, err := os.ReadDir(filepath.Dir(cfg.Proof))
			if err != nil || len(list) != 0 {
				t.Errorf("left behind: %v, %v", list, err)
			}
		})
	}
}

// A damaged cache entry is as good as none.
func TestDamagedCache(t *testing.T) {
	cfg := settings(t)
	first, err := Prove(t.Context(), cfg, ui.NewPhases(nil, true))
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(cfg.CacheDir)
	if err != nil || len(list) != 1 || first.CachedCommitment {
		t.Fatalf("cache %v, %v", list, err)
	}
	again, err := Prove(t.Context(), cfg, ui.NewPhases(nil, true))
	if err != nil || !again.CachedCommitment {
		t.Fatalf("no use of the cache: %v", err)
	}
	path := filepath.Join(cfg.CacheDir, list[0].Name())
	entry, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entry[len(entry)/2] ^= 1
	if err := os.WriteFile(path, entry, 0o600); err != nil {
		t.Fatal(err)
	}
	third, err := Prove(t.Context(), cfg, ui.NewPhases(nil, true))
	if err != nil || third.CachedCommitment {
		t.Fatalf("use of a damaged cache: %v", err)
	}
	if third.Commitment != first.Commitment || again.Commitment != first.Commitment {
		t.Error("three commitments to one model")
	}
}

func TestSplit(t *testing.T) {
	g := &graph.Graph{Inputs: []graph.Input{
		{Name: "a", Shape: []int{1, 2}, DType: graph.Float}, {Name: "b", Shape: []int{3}, DType: graph.Float},
	}}
	a, b := []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8, 9, 10}
	for name, in := range map[string]onnx.Inputs{
		"by position":         {{Values: a}, {Values: b}},
		"by name":             {{Name: "b", Values: b}, {Name: "a", Values: a}},
		"position, one named": {{Name: "b", Values: a}, {Name: "z", Values: b}},
	} {
		samples, err := Split(g, in)
		if err != nil || len(samples) != 2 || samples[1][0][0] != 3 || samples[1][1][2] != 10 {
			t.Errorf("%s: %v, %v", name, samples, err)
		}
	}
	for name, in := range map[string]onnx.Inputs{
		"too few arrays":    {{Values: a}},
		"not a multiple":    {{Values: a[:3]}, {Values: b}},
		"different numbers": {{Values: a}, {Values: b[:3]}},
		"an empty array":    {{Values: nil}, {Values: b}},
	} {
		if _, err := Split(g, in); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The digest depends on everything that the graph computes, and on nothing else.
func TestContentDigest(t *testing.T) {
	make := func() *graph.Graph {
		return &graph.Graph{
			Name: "g", Inputs: []graph.Input{{Name: "x", Shape: []int{2}, DType: graph.Float}}, Outputs: []string{"y"},
			Nodes: []*graph.Node{{
				Op: graph.Scalar{Func: graph.Clip, Params: []float64{math.Inf(-1), 1}}, Name: "n", Inputs: []string{"x"}, Output: "y",
			}},
			Consts: map[string]*graph.Tensor{"w": {Shape: []int{2}, DType: graph.Float, F32: []float32{1, 2}}},
			Shapes: map[string][]int{"x": {2}, "y": {2}, "w": {2}},
		}
	}
	base := contentDigest(make())
	if base != contentDigest(make()) {
		t.Error("not a function of the content")
	}
	for name, change := range map[string]func(*graph.Graph){
		"weight":    func(g *graph.Graph) { g.Consts["w"].F32[1] = 3 },
		"negative":  func(g *graph.Graph) { g.Consts["w"].F32[1] = -2 },
		"attribute": func(g *graph.Graph) { g.Nodes[0].Op.(graph.Scalar).Params[1] = 2 },
		"function": func(g *graph.Graph) {
			g.Nodes[0].Op = graph.Scalar{Func: graph.Relu, Params: []float64{math.Inf(-1), 1}}
		},
		"operator": func(g *graph.Graph) { g.Nodes[0].Op = graph.Add },
		"another":  func(g *graph.Graph) { g.Nodes[0].Op = graph.Less },
		"shape":    func(g *graph.Graph) { g.Shapes["y"] = []int{1, 2} },
		"constant": func(g *graph.Graph) { g.Consts["v"] = g.Consts["w"]; delete(g.Consts, "w") },
	} {
		g := make()
		change(g)
		if contentDigest(g) == base {
			t.Errorf("%s does not count", name)
		}
	}
}

func TestCompare(t *testing.T) {
	o, err := compare("y", nil, []float64{1}, []float64{0})
	if err != nil || o.MaxError != 1 || o.RangeError != math.MaxFloat64 || o.Shape == nil {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := compare("y", nil, []float64{1}, []float64{math.NaN()}); err == nil {
		t.Error("a float output that is not a number")
	}
}

func TestHints(t *testing.T) {
	base := errors.New("base")
	err := WithHint(base, "advice")
	if Hint(err) != "advice" || !errors.Is(err, base) || err.Error() != "base" {
		t.Errorf("%v, hint %q", err, Hint(err))
	}
	if WithHint(nil, "advice") != nil || Hint(base) != "" {
		t.Error("a hint from nothing")
	}
}

func TestPrint(t *testing.T) {
	v := &Verified{Valid: true, Commitment: strings.Repeat("ab", 32), Outputs: []Values{{Name: "y", Shape: []int{12}, Values: make([]float64, 12)}}}
	var b bytes.Buffer
	v.Print(&b)
	if !strings.Contains(b.String(), "VALID") || !strings.Contains(b.String(), "… (12)") {
		t.Error(b.String())
	}
	b.Reset()
	(&Verified{Reason: "why"}).Print(&b)
	if b.String() != "NOT VALID: why\n" {
		t.Error(b.String())
	}
}
