package quantise

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"pgregory.net/rapid"
)

// An operatorModel is one of the reader's operator cases, or a tiny language model, with the ranges of its values.
type operatorModel struct {
	name   string
	graph  *graph.Graph
	ranges map[string]Range
}

// operatorModels reads all of them.
var operatorModels = sync.OnceValues(func() (list []operatorModel, err error) {
	paths, err := filepath.Glob(filepath.Join("..", "onnx", "testdata", "operators", "*.onnx"))
	for _, path := range paths {
		in, err := onnx.ReadInputs(strings.TrimSuffix(path, ".onnx") + ".json")
		if err != nil {
			return nil, err
		}
		g, err := onnx.Load(path, in.Options(nil))
		if err != nil {
			return nil, err
		}
		values, err := g.RunFloat(in.Data())
		if err != nil {
			return nil, err
		}
		list = append(list, operatorModel{strings.TrimSuffix(filepath.Base(path), ".onnx"), g, Ranges(values)})
	}
	return list, err
})

// widened is a range 2^by times as wide.
func widened(r Range, by int) Range {
	f := math.Exp2(float64(by))
	return Range{Min: r.Min * f, Max: r.Max * f, Least: r.Least * f}.Rounded()
}

// drawFormats draws formats for some values of a model, and makes the ranges of some wider
// or narrower: what a file of ranges may have.
func drawFormats(t *rapid.T, o *operatorModel) (ranges map[string]Range, opts Options) {
	ranges, opts = map[string]Range{}, Options{Mode: rapid.SampledFrom([]string{"auto", "w8a8", "exact"}).Draw(t, "mode"), Formats: Formats{}}
	bits, weights := []int{0}, []int{0}
	for n := 4; n <= 28; n++ {
		bits = append(bits, n)
	}
	for n := 2; n <= 22; n++ {
		weights = append(weights, n)
	}
	scaled := rapid.Bool().Draw(t, "scaled")
	for _, name := range Values(o.graph) {
		f := Format{Bits: rapid.SampledFrom(bits).Draw(t, name+": bits"), Weights: rapid.SampledFrom(weights).Draw(t, name+": weights")}
		if f != (Format{}) {
			opts.Formats[name] = f
		}
		r := o.ranges[name]
		if scaled {
			r = widened(r, rapid.IntRange(-8, 8).Draw(t, name+": range"))
		}
		ranges[name] = r
	}
	return ranges, opts
}

// ends are inputs at the ends of what a proof may have: all at the greatest or the least, or
// each at either, or anywhere.
func ends(g *model.Graph, which int, rng *rand.Rand) (inputs [][]int32) {
	for _, id := range g.Inputs {
		in := &g.Tensors[id]
		v := make([]int32, model.Size(in.Shape))
		for i := range v {
			v[i] = int32([]int64{in.Max, in.Min, []int64{in.Min, in.Max}[rng.IntN(2)], in.Min + rng.Int64N(in.Max-in.Min+1)}[which])
		}
		inputs = append(inputs, v)
	}
	return inputs
}

// runsAtEnds runs a circuit on such inputs.
func runsAtEnds(m *Model, rng *rand.Rand) error {
	for which := range 4 {
		w, err := forward.Run(context.Background(), m.Graph, m.Weights, ends(m.Graph, which, rng))
		if err != nil {
			return err
		}
		err = w.Check()
		w.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Formats whose keys reach one beyond a power of two when they are rounded: the table has
// it, or the format is refused by the name of the value. The last three are of a table that has no
// room for half a unit more, so that less is added and the least key is lower; of a factor of a
// product that limbs hold with more bits than are asked for; and of a tensor of zeros and ones that
// is cut into limbs.
func TestFormatsAtEnds(t *testing.T) {
	list, err := operatorModels()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model, mode string
		formats     Formats
		by          map[string]int // ranges are 2^by times as wide
		refusal     string
	}{
		{"abs", "exact", Formats{"x": {Bits: 20, Weights: 8}, "y": {Bits: 25, Weights: 4}}, nil, ""},
		{"abs", "w8a8", Formats{"x": {Bits: 22, Weights: 0}, "y": {Bits: 27, Weights: 0}}, nil, ""},
		{"max_scalar", "w8a8", Formats{"x": {Bits: 21, Weights: 20}, "y": {Bits: 22, Weights: 2}, "y/Clip": {Bits: 27, Weights: 5}}, nil, ""},
		{"clip_max_only", "auto", Formats{"x": {Bits: 21, Weights: 0}, "y": {Bits: 27, Weights: 0}}, nil, ""},
		{"rotary_halves", "auto", Formats{"x": {Bits: 13, Weights: 0}, "y/Mul": {Bits: 25, Weights: 0}, "y/Mul_2": {Bits: 15, Weights: 0}, "y/Mul_3": {Bits: 4, Weights: 0}, "y/Mul_4": {Bits: 14, Weights: 0}, "y/Sub": {Bits: 8, Weights: 0}}, nil, ""},
		{"dft_complex", "exact", Formats{"x": {Bits: 27, Weights: 4}, "y": {Bits: 6, Weights: 0}, "y/MatMul": {Bits: 21, Weights: 16}, "y/Reshape": {Bits: 4, Weights: 4}}, nil,
			`node "y/MatMul" (MatMul): an accumulator of up to 536870910 cannot be rounded to limbs: give formats of fewer bits, or none, to "y/MatMul" (21 bits, weights of 16)`},
		{"bias_gelu", "auto", Formats{"x": {Bits: 4}, "y/Add": {Bits: 4}}, map[string]int{"x": -8, "y/Add": 1}, ""},
		{"affine_grid_sampled", "auto", Formats{"y/Sub": {Bits: 4}, "y/Sub_3": {Bits: 4}, "y/Reshape_7": {Bits: 10}, "y/Reshape_8": {Bits: 21}, "y/Transpose": {Bits: 5}, "y/MatMul": {Weights: 2}},
			map[string]int{"x": 2, "y/Sub": -4, "y/Sub_3": -5, "y/Reshape_6": -3, "y/Reshape_8": -4},
			`node "y/MatMul" (MatMul): a value is at least 1534, where its range and its format end at 1023: give it a wider range`},
		{"log_bands_of_parts", "auto", Formats{"l/Concat": {Bits: 4}}, map[string]int{"x": -3, "z": -7, "l/Concat": 1}, ""},
	} {
		i := slices.IndexFunc(list, func(o operatorModel) bool { return o.name == c.model })
		ranges := maps.Clone(list[i].ranges)
		for name, by := range c.by {
			ranges[name] = widened(ranges[name], by)
		}
		m, err := Quantise(list[i].graph, ranges, Options{Mode: c.mode, Formats: c.formats})
		if c.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), c.refusal) {
				t.Errorf("%s: %v", c.model, err)
			}
			continue
		}
		if err == nil {
			err = runsAtEnds(m, rand.New(rand.NewPCG(1, 2)))
		}
		if err != nil {
			t.Errorf("%s %v: %v", c.model, c.formats, err)
		}
	}
}

// Whatever the formats in a file of ranges, they are refused or give a circuit that runs on
// every input within its ranges. A refusal names a value or a node.
func TestDrawnFormats(t *testing.T) {
	list, err := operatorModels()
	if err != nil {
		t.Fatal(err)
	}
	made, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		o := &list[rapid.IntRange(0, len(list)-1).Draw(t, "model")]
		ranges, opts := drawFormats(t, o)
		m, err := Quantise(o.graph, ranges, opts)
		if err != nil {
			if refused++; !strings.Contains(err.Error(), `"`) {
				t.Fatalf("%s: a refusal that names nothing: %v", o.name, err)
			}
			return
		}
		made++
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		if err := runsAtEnds(m, rng); err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
		arguments(t, m) // a certificate makes its blocks again
	})
	if made < refused {
		t.Errorf("%d circuits, and %d refused", made, refused)
	}
}

// The same of models of texts, whose circuits are of any length.
func TestDrawnTextFormats(t *testing.T) {
	if !*full {
		t.Skip("make full draws some")
	}
	dirs, err := filepath.Glob("../hf/testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	var texts []operatorModel
	for _, dir := range dirs {
		if x := openText(t, dir); x != nil {
			texts = append(texts, operatorModel{filepath.Base(dir), x.g, x.ranges})
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		o := &texts[rapid.IntRange(0, len(texts)-1).Draw(t, "model")]
		ranges, opts := drawFormats(t, o)
		opts.Length = longest
		m, err := Quantise(o.graph, ranges, opts)
		if err != nil {
			if !strings.Contains(err.Error(), `"`) {
				t.Fatalf("%s: a refusal that names nothing: %v", o.name, err)
			}
			return
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for _, n := range []int{longest, 1, 6} {
			at, err := m.At(model.Instance{Sizes: []int{n}})
			if err == nil {
				err = runsAtEnds(at, rng)
			}
			if err != nil {
				t.Fatalf("%s of %d tokens: %v", o.name, n, err)
			}
		}
		arguments(t, m)
	})
}
