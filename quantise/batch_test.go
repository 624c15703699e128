package quantise

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/onnxtest"

	"github.com/prove-model/prove-model/quantise/internal/networks"

	static "github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// The models whose elements are not computed one by one: this one asks for the sum of
// all of the batch.
var together = map[string]bool{"if_computed": true}

// TestFreeBatch runs a batch of every operator's model against its elements one by one; of every third without -full.
func TestFreeBatch(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "onnx", "testdata", "operators", "*.onnx"))
	free, fixed := 0, 0
	for i, path := range paths {
		if !*full && i%3 != 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		fg := onnxtest.OpenBatch(t, path)
		if fg == nil {
			continue
		}
		rng := rand.New(rand.NewPCG(40, uint64(len(name))))
		values, err := fg.RunFloat(networks.RandomInputs(rng, fg))
		if err != nil && strings.Contains(err.Error(), "no integer stands") {
			continue // a division by 0
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(fg, Ranges(values), Options{})
		if err != nil || m.OneBatch != nil {
			if err == nil {
				fixed++
				t.Logf("%s: %v", name, m.OneBatch)
			}
			continue
		}
		free++
		t.Run(name, func(t *testing.T) {
			if !together[name] {
				oneByOne(t, rng, m)
			}
			if !notShown[name] {
				bounded(t, m)
			}
		})
	}
	t.Logf("%d models with a free batch, %d with one size", free, fixed)
	if free < len(paths)/10 || *full && free < 100 {
		t.Errorf("only %d models have a free batch", free)
	}
}

// notShown are operators that have no certificate: intervals do not see that the greater
// of two wide values, b + c·(a − b) with c saying whether a ≥ b, is one of them.
var notShown = map[string]bool{"reducelogsumexp": true}

// bounded checks that the bounds of every size follow from the circuit.
func bounded(t *testing.T, m *Model) {
	t.Helper()
	for _, n := range []int{1, 2, 5, 100} {
		of, err := m.At(model.Instance{Sizes: []int{n}})
		if err != nil {
			continue // no circuit, and no proof, of that size
		}
		if err := static.Check(of.Graph, static.Measure(of.Graph, m.Weights), arguments(t, of)...); err != nil {
			t.Errorf("batch of %d: %v", n, err)
		}
	}
}

// oneByOne runs a batch, and each of its elements as a batch of one.
func oneByOne(t *testing.T, rng *rand.Rand, m *Model) {
	t.Helper()
	const n = 5
	run := func(size int, in [][]int32) [][]int32 {
		g, err := m.Circuit.At(model.Instance{Sizes: []int{size}})
		if err != nil {
			t.Fatal(err)
		}
		w, err := forward.Run(context.Background(), g, m.Weights, in)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
		var out [][]int32
		for _, id := range g.Outputs {
			out = append(out, w.Tensor(id))
		}
		return out
	}
	batch := make([][]int32, len(m.Graph.Inputs))
	for i, id := range m.Circuit.Graph.Inputs {
		in := &m.Circuit.Graph.Tensors[id]
		batch[i] = make([]int32, n*model.Size(in.Shape))
		for j := range batch[i] {
			batch[i][j] = int32(in.Min + rng.Int64N(in.Max-in.Min+1))
		}
	}
	all := run(n, batch)
	for k := range n {
		one := make([][]int32, len(batch))
		for i, v := range batch {
			one[i] = v[k*len(v)/n : (k+1)*len(v)/n]
		}
		for i, got := range run(1, one) {
			out := &m.Circuit.Graph.Tensors[m.Circuit.Graph.Outputs[i]]
			if len(out.Scales) == 0 || out.Scales[0] == 0 || slices.Contains(out.Scales[1:], 1) {
				continue // not by element of the batch, or each with each
			}
			if want := all[i][k*len(all[i])/n : (k+1)*len(all[i])/n]; !slices.Equal(got, want) {
				t.Fatalf("output %d of element %d is %v alone, %v in the batch", i, k, got, want)
			}
		}
	}
}
