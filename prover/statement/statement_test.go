package statement

import (
	"errors"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/verifier"
)

// array is one of a file's, with or without a name.
type array struct {
	name   string
	values []float64
}

func compare(g *model.Graph, public [][]int32, file []array) (int, error) {
	var names []string
	var values [][]float64
	for _, a := range file {
		names, values = append(names, a.name), append(values, a.values)
	}
	return Compare(&verifier.Result{Circuit: g, Inputs: public}, names, values)
}

// Arrays with names are the inputs of these names, in whatever order the file
// has them: for Verify as for proving. Else a proof about (x, y) would pass for
// a file that says (y, x).
func TestSameInputGoesByName(t *testing.T) {
	tensor := func(name string) model.Tensor {
		return model.Tensor{Name: name, Shape: []int{2}, Min: -8, Max: 7, Frac: 1}
	}
	g := &model.Graph{Tensors: []model.Tensor{tensor("x"), tensor("y")}, Inputs: []model.TensorID{0, 1}}
	public := [][]int32{{1, 2}, {3, 7}}
	a, b := []float64{0.5, 1}, []float64{1.5, 3.5}
	for name, c := range map[string]struct {
		file    []array
		valid   bool
		clamped int
	}{
		"as the model has them": {[]array{{name: "x", values: a}, {name: "y", values: b}}, true, 0},
		"the other way round":   {[]array{{name: "y", values: b}, {name: "x", values: a}}, true, 0},
		"names exchanged":       {[]array{{name: "y", values: a}, {name: "x", values: b}}, false, 0},
		"without names":         {[]array{{values: a}, {values: b}}, true, 0},
		"other names":           {[]array{{name: "p", values: a}, {name: "q", values: b}}, true, 0},
		"one name twice":        {[]array{{name: "x", values: a}, {name: "x", values: b}}, true, 0},
		"without names, turned": {[]array{{values: b}, {values: a}}, false, 0},
		"one array":             {[]array{{values: a}}, false, 0},
		"three arrays":          {[]array{{values: a}, {values: b}, {values: b}}, false, 0},
		"beyond the range":      {[]array{{values: a}, {values: []float64{1.5, 100}}}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clamped, err := compare(g, public, c.file)
			if (err == nil) != c.valid || clamped != c.clamped || err != nil && !errors.Is(err, ErrOtherInput) {
				t.Errorf("%d values clamped, %v", clamped, err)
			}
		})
	}
}

// A key may call two inputs the same, and then its names say nothing: a proof
// about (x, x) must not pass for a file that says (x, y).
func TestSameInputOfOneName(t *testing.T) {
	x := model.Tensor{Name: "x", Shape: []int{2}, Min: -8, Max: 7, Frac: 1}
	g := &model.Graph{Tensors: []model.Tensor{x, x}, Inputs: []model.TensorID{0, 1}}
	public := [][]int32{{1, 2}, {1, 2}}
	file := []array{{name: "x", values: []float64{0.5, 1}}, {name: "y", values: []float64{1.5, 3.5}}}
	if _, err := compare(g, public, file); err == nil {
		t.Error("accepted")
	}
	// Nor do its names turn round a file that has them twice as well.
	public = [][]int32{{1, 2}, {3, 7}}
	file = []array{{name: "x", values: []float64{0.5, 1}}, {name: "x", values: []float64{1.5, 3.5}}}
	if _, err := compare(g, public, file); err != nil {
		t.Error(err)
	}
}
