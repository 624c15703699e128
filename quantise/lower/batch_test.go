package lower

import (
	"flag"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/onnxtest"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

var full = flag.Bool("full", false, "try models of all operators, not of every third; make full does")

// sameAsMade compares the template's circuits with those that are lowered for
// their size.
func sameAsMade(t *testing.T, fg *graph.Graph, ranges map[string]Range, m *Result) {
	t.Helper()
	opts, err := Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	few := rebind(fg, "batch", fewSizes, nil)
	chosen := newLowering(few[0].graph, ranges, opts, &Memory{})
	chosen.Batch = few[0].sizes[0]
	chosen = chosen.choose()
	for _, b := range rebind(fg, "batch", []int{5, 7, 100}, nil) {
		l := newLowering(b.graph, ranges, opts, &Memory{}).nextPass(chosen.Plan)
		l.Batch = b.sizes[0]
		l.run()
		made := l.finish(&model.Template{Graph: l.Circuit}, model.Instance{})
		l.memory.Fill(made)
		of, err := m.Circuit.At(model.Instance{Sizes: b.sizes})
		if err != nil {
			t.Fatal(err)
		}
		of.Instance = made.Graph.Instance
		if !reflect.DeepEqual(of, made.Graph) {
			t.Errorf("batch of %d: another circuit than is made for it", b.sizes[0])
		}
		if !reflect.DeepEqual(m.Weights, made.Weights) {
			t.Errorf("batch of %d: other weights", b.sizes[0])
		}
	}
}

// The circuit of every operator's template at several sizes is the one that is made for
// that size.
func TestTemplatesAreWhatSizesAreMadeTo(t *testing.T) { // of every third model without -full
	paths, _ := filepath.Glob(filepath.Join("..", "..", "onnx", "testdata", "operators", "*.onnx"))
	free := 0
	for i, path := range paths {
		if !*full && i%3 != 2 {
			continue
		}
		fg := onnxtest.OpenBatch(t, path)
		if fg == nil {
			continue
		}
		rng := rand.New(rand.NewPCG(40, uint64(len(path))))
		values, err := fg.RunFloat(networks.RandomInputs(rng, fg))
		if err != nil && strings.Contains(err.Error(), "no integer stands") {
			continue // a division by 0
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(fg, Ranges(values), Options{})
		if err != nil || m.OneBatch != nil {
			continue
		}
		free++
		t.Run(filepath.Base(path), func(t *testing.T) { sameAsMade(t, fg, Ranges(values), m) })
	}
	if free < len(paths)/10 || *full && free < 100 {
		t.Errorf("only %d models have a free batch", free)
	}
}
