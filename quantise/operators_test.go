package quantise

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
)

// The reader's operator cases: odd sizes, strides, pads, dilations, groups,
// broadcasting, every attribute. Integers must follow the float reference.
func TestOperators(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "onnx", "testdata", "operators", "*.onnx"))
	if len(paths) < 100 {
		t.Fatalf("only %d cases", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".onnx"), func(t *testing.T) {
			in, err := onnx.ReadInputs(strings.TrimSuffix(path, ".onnx") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			g, err := onnx.Load(path, in.Options(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			_, _, got, want := run(t, g, in.Data(), Options{})
			for i := range got {
				if a := Compare(got[i], want[i]); a.Relative > 0.01 || len(want[i]) >= 8 && a.Cosine < 0.999 {
					t.Errorf("output %d: error %.4f of the range %.4g, cosine %.6f\n%.4g\n%.4g", i, a.Relative, a.Range, a.Cosine, got[i], want[i])
				}
			}
		})
	}
}

// The same on inputs of any scale, zero included: scales follow calibration.
func TestInputScales(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "onnx", "testdata", "operators", "*.onnx"))
	for i, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		for k, scale := range []float64{0, 1e-6, 1e4} {
			if !*full && (i+k)%3 == 0 { // two of three
				continue
			}
			in, err := onnx.ReadInputs(strings.TrimSuffix(path, ".onnx") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			g, err := onnx.Load(path, in.Options(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			var x [][]float64
			for k, v := range in.Data() {
				scaled := make([]float64, len(v))
				for i := range v {
					scaled[i] = scale * v[i]
				}
				if name := g.Inputs[k].Name; !g.Inputs[k].DType.IsFloat() || g.Masks(name) { // whole numbers and masks have no scale
					scaled = v
				}
				x = append(x, scaled)
			}
			values, err := g.RunFloat(x)
			if err != nil {
				t.Fatal(err)
			}
			finite := true
			for _, v := range values {
				for _, y := range v {
					finite = finite && !math.IsNaN(y) && !math.IsInf(y, 0)
				}
			}
			if !finite { // a logarithm of zero, say
				continue
			}
			m, _, got, want := run(t, g, x, Options{})
			exact := onRounded(t, g, m, x)
			for i := range got {
				// What rounding the input alone costs (sin(10^4) to 12 bits, say) is not
				// a matter of scale.
				allowed := 0.01
				if r := Compare(exact[i], want[i]).Relative; r < math.Inf(1) {
					allowed += r
				}
				if a := Compare(got[i], want[i]); a.Relative > allowed && a.MaxError > 1e-9 {
					t.Errorf("%s, scale %g, output %d: %+v", name, scale, i, a)
				}
			}
		}
	}
}

// onRounded returns the outputs of the float model on the inputs as m rounds them.
func onRounded(t *testing.T, g *graph.Graph, m *Model, x [][]float64) (out [][]float64) {
	t.Helper()
	ints, _, err := m.QuantiseInput(x)
	if err != nil {
		t.Fatal(err)
	}
	rounded := make([][]float64, len(ints))
	for i, v := range ints {
		rounded[i] = m.Dequantise(m.Graph.Inputs[i], v)
	}
	values, err := g.RunFloat(rounded)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range g.Outputs {
		out = append(out, values[name])
	}
	return out
}
