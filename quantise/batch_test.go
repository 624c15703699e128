package quantise

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/onnx/onnxpb"
	static "github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// openBatch reads an operator's model with the leading axis of all inputs left
// open, for a batch of two; nil if that is no model.
func openBatch(t *testing.T, path string) *graph.Graph {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	for _, in := range m.Graph.Input {
		dims := in.GetType().GetTensorType().GetShape().GetDim()
		if len(dims) == 0 {
			return nil
		}
		dims[0].Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "batch"}
	}
	if data, err = proto.Marshal(m); err != nil {
		t.Fatal(err)
	}
	fg, err := onnx.Parse(bytes.Clone(data), onnx.Options{Dims: map[string]int{"batch": 2}})
	if err != nil {
		return nil // the batch is in a constant, for one
	}
	return fg
}

func randomInputs(rng *rand.Rand, fg *graph.Graph) [][]float64 {
	in := make([][]float64, len(fg.Inputs))
	for i, v := range fg.Inputs {
		in[i] = make([]float64, graph.Size(v.Shape))
		for j := range in[i] {
			in[i][j] = 0.25 + rng.Float64()
			if !v.DType.IsFloat() {
				in[i][j] = float64(rng.IntN(2))
			}
			if fg.Masks(v.Name) {
				in[i][j] = 1
			}
		}
	}
	return in
}

// The models whose elements are not computed one by one: this one asks for the sum of
// all of the batch.
var together = map[string]bool{"if_computed": true}

// TestFreeBatch holds the circuit of every operator's template at several sizes
// against the one that is made for that size, and runs a batch against its
// elements one by one.
func TestFreeBatch(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "onnx", "testdata", "operators", "*.onnx"))
	free, fixed := 0, 0
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		fg := openBatch(t, path)
		if fg == nil {
			continue
		}
		rng := rand.New(rand.NewPCG(40, uint64(len(name))))
		values, err := fg.RunFloat(randomInputs(rng, fg))
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
			sameAsMade(t, fg, Ranges(values), m)
			if !together[name] {
				oneByOne(t, rng, m)
			}
			if !notShown[name] {
				bounded(t, m)
			}
		})
	}
	t.Logf("%d models with a free batch, %d with one size", free, fixed)
	if free < 100 {
		t.Errorf("only %d models have a free batch", free)
	}
}

// sameAsMade compares the template's circuits with those that are lowered for
// their size.
func sameAsMade(t *testing.T, fg *graph.Graph, ranges map[string]Range, m *Model) {
	t.Helper()
	opts, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	few, err := rebind(fg, "batch", fewSizes, nil)
	if err != nil {
		t.Fatal(err)
	}
	chosen := newLowering(few[0].graph, ranges, opts, &weightStats{})
	chosen.batch = few[0].size
	if chosen, err = chosen.choose(); err != nil {
		t.Fatal(err)
	}
	others, err := rebind(fg, "batch", []int{5, 7, 100}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range others {
		l := newLowering(b.graph, ranges, opts, &weightStats{}).again(chosen.plan)
		l.batch = b.size
		if err := l.run(); err != nil {
			t.Fatal(err)
		}
		made, err := l.finish(&model.Template{Graph: l.g}, model.Instance{})
		if err != nil {
			t.Fatal(err)
		}
		l.stats.fill(made)
		of, err := m.Circuit.At(model.Instance{Sizes: []int{b.size}})
		if err != nil {
			t.Fatal(err)
		}
		of.Instance = made.Graph.Instance
		if !reflect.DeepEqual(of, made.Graph) {
			t.Errorf("batch of %d: another circuit than is made for it", b.size)
		}
		if !reflect.DeepEqual(m.Weights, made.Weights) {
			t.Errorf("batch of %d: other weights", b.size)
		}
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
