package quantise

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// text is a tiny published model with a calibrated range for every value.
type text struct {
	g      *graph.Graph // for the bound
	ranges map[string]Range
	vocab  int
}

// longest is the bound of texts in tests.
const longest = 9

// openText opens a model of one text of hf/testdata and calibrates it on texts of several lengths; it returns nil for other models.
func openText(t *testing.T, dir string) *text {
	t.Helper()
	path := dir
	if file := filepath.Join(dir, "model.gguf"); exists(file) {
		path = file
	}
	m, err := hf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if m.Context == 0 || m.Start != nil {
		return nil
	}
	g, err := m.Graph(longest, 0)
	if err != nil {
		t.Fatal(err)
	}
	if Length(g) == "" {
		return nil
	}
	x := &text{g: g, vocab: m.Vocabulary}
	var runs []map[string][]float64
	rng := rand.New(rand.NewPCG(60, 61))
	for _, n := range []int{3, longest} {
		values, err := x.at(t, n).RunFloat([][]float64{x.tokens(rng, n)})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, values)
	}
	x.ranges = Ranges(runs...)
	return x
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// at is the float model for a length.
func (x *text) at(t *testing.T, n int) *graph.Graph {
	t.Helper()
	g, err := x.g.Rebind(map[string]int{Length(x.g): n})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (x *text) tokens(rng *rand.Rand, n int) []float64 {
	ids := make([]float64, n)
	for i := range ids {
		ids[i] = float64(rng.IntN(x.vocab))
	}
	return ids
}

var full = flag.Bool("full", false, "try models of all families, not some of them; make full does")

// TestFreeLength has one circuit for texts of all lengths, of every family: what it
// gives of a prefix is what it gives within the whole text, if the model looks back
// alone, and agrees with the float model.
func TestFreeLength(t *testing.T) {
	dirs, err := filepath.Glob("../hf/testdata/*")
	if err != nil || len(dirs) < 20 {
		t.Fatalf("%d models: %v", len(dirs), err)
	}
	for i, dir := range dirs {
		if testing.Short() && i%4 != 0 || !*full && i%2 != 0 && !shown[filepath.Base(dir)] {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			x := openText(t, dir)
			if x == nil {
				t.Skip("a model of images, or of texts of one length, or an encoder–decoder, whose two lengths TestAnswer tries")
			}
			m, err := Quantise(x.g, x.ranges, Options{Length: longest})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(62, 63))
			ids := x.tokens(rng, longest)
			var whole []int32
			for _, n := range []int{longest, 1, 6} {
				at, w := x.run(t, m, ids[:n])
				got, id := w.Tensor(at.Graph.Outputs[0]), at.Graph.Outputs[0]
				values, err := x.at(t, n).RunFloat([][]float64{ids[:n]})
				if err != nil {
					t.Fatal(err)
				}
				a := Compare(at.Dequantise(id, got), values[x.g.Outputs[0]])
				most := 0.015 // with the formats that the mode has, without a choice
				if filepath.Base(dir) == "gemma3n" {
					most = 0.04 // norms behind each branch make what is left of sparse ones large
				}
				if a.Relative > most {
					t.Errorf("%d tokens: error %.4f %% of the range", n, 100*a.Relative)
				}
				if n != 6 && shown[filepath.Base(dir)] {
					checkBounds(t, at, w)
				}
				if n == longest {
					whole = got
				} else if shape := at.Graph.Tensors[id].Shape; len(shape) == 3 && shape[1] == n && causal(dir) && !slices.Equal(got, whole[:len(got)]) {
					t.Errorf("the first %d tokens alone give other integers", n)
				}
			}
		})
	}
}

// shown are models whose bounds follow from their circuits, of the least length and the
// greatest: of all that is particular to a free length.
var shown = map[string]bool{"llama": true, "gpt2": true, "mistral": true, "qwen2-window": true, "bert": true, "sentence": true}

// causal reports whether a model looks back alone.
func causal(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	return err != nil || bytes.Contains(data, []byte("ForCausalLM")) || bytes.Contains(data, []byte("LMHeadModel"))
}

func (x *text) run(t *testing.T, m *Model, ids []float64) (*Model, *forward.Witness) {
	t.Helper()
	at, err := m.At(model.Instance{Sizes: []int{len(ids)}})
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := at.QuantiseInput([][]float64{ids})
	if err != nil {
		t.Fatal(err)
	}
	w, err := forward.Run(context.Background(), at.Graph, at.Weights, in)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	return at, w
}
