package onnx

import (
	"math"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// An Imputer replaces NaN where samples have it, and 0 unless it says what, as the operator's specification has it.
func TestImputer(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		attrs   []any
		numbers graph.Numbers
		in, out []float64
	}{
		"NaN":         {[]any{"replaced_value_float", nan}, graph.AllNumbers, []float64{1, nan, 3, nan, 0, 6}, []float64{1, 8, 3, 7, 0, 6}},
		"no NaN":      {[]any{"replaced_value_float", nan}, graph.FiniteNumbers, []float64{1, 2, 3, 4, 0, 6}, []float64{1, 2, 3, 4, 0, 6}},
		"a number":    {[]any{"replaced_value_float", 4.0}, graph.FiniteNumbers, []float64{1, 2, 4, 4, 0, 6}, []float64{1, 2, 9, 7, 0, 6}},
		"by default":  {nil, graph.FiniteNumbers, []float64{1, 0, 3, 0, 5, 6}, []float64{1, 8, 3, 7, 5, 6}},
		"beside NaN":  {[]any{"replaced_value_float", 4.0}, graph.AllNumbers, []float64{4, 1, 1, 1, 1, 1}, []float64{7, 1, 1, 1, 1, 1}},
		"and what is": {[]any{"replaced_value_float", nan}, graph.AllNumbers, []float64{math.Inf(1), nan, 0, 0, 0, 0}, []float64{math.Inf(1), 8, 0, 0, 0, 0}},
	} {
		m := testModel(17, domainNode("ai.onnx.ml", "Imputer", []string{"x"}, []string{"y"}, append(c.attrs, "imputed_value_floats", []float32{7, 8, 9})...))
		g, err := Parse(marshal(t, m), Options{InputNumbers: []graph.Numbers{c.numbers}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		values, err := g.RunFloat([][]float64{c.in})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := values[g.Outputs[0]]; !slices.Equal(got, c.out) {
			t.Errorf("%s: %v, not %v", name, got, c.out)
		}
	}
}
