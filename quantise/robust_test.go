package quantise

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx"
)

// Whatever the input, integers stay within their static bounds and keys in
// their tables: values that calibration did not expect saturate, they never
// fail. The inputs tried are random ones far outside of the calibrated range,
// and the ends of the ranges in random combinations, where the bounds are met.
func TestAnyInputRuns(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "onnx", "testdata", "operators", "*.onnx"))
	for i, path := range paths {
		for k, opts := range []Options{{}, {Mode: "w8a8"}} {
			if !*full && (i+k)%2 != 0 {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(path), ".onnx")+" "+opts.Mode, func(t *testing.T) {
				in, err := onnx.ReadInputs(strings.TrimSuffix(path, ".onnx") + ".json")
				if err != nil {
					t.Fatal(err)
				}
				g, err := onnx.Load(path, in.Options(nil))
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				values, err := g.RunFloat(in.Data())
				if err != nil {
					t.Fatal(err)
				}
				m, err := Quantise(g, Ranges(values), opts)
				if err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(1, 2))
				for try := range 4 {
					var inputs [][]float64
					for k, v := range in.Data() {
						if name := g.Inputs[k].Name; g.Rows(name) > 0 || g.Masks(name) { // others are refused
							inputs = append(inputs, v)
							continue
						}
						x := make([]float64, len(v))
						for i := range x {
							switch try {
							case 0:
								x[i] = math.Inf(1)
							case 1:
								x[i] = math.Inf(-1)
							case 2:
								x[i] = math.Inf(1 - 2*rng.IntN(2))
							default:
								x[i] = 20 * rng.NormFloat64() * v[i]
							}
							x[i] = math.Max(-1e30, math.Min(1e30, x[i]))
						}
						inputs = append(inputs, x)
					}
					runChecked(t, m, inputs)
				}
			})
		}
	}
}
