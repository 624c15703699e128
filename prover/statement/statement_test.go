package statement

import (
	"errors"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/verifier"
)

func compare(g *model.Graph, public [][]int32, file []Array) (int, error) {
	return Compare(&verifier.Result{Circuit: g, Inputs: public}, file)
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
		file    []Array
		valid   bool
		clamped int
	}{
		"as the model has them": {[]Array{{Name: "x", Values: a}, {Name: "y", Values: b}}, true, 0},
		"the other way round":   {[]Array{{Name: "y", Values: b}, {Name: "x", Values: a}}, true, 0},
		"names exchanged":       {[]Array{{Name: "y", Values: a}, {Name: "x", Values: b}}, false, 0},
		"without names":         {[]Array{{Values: a}, {Values: b}}, true, 0},
		"other names":           {[]Array{{Name: "p", Values: a}, {Name: "q", Values: b}}, false, 0},
		"one misspelt":          {[]Array{{Name: "x", Values: a}, {Name: "Y", Values: b}}, false, 0},
		"one name twice":        {[]Array{{Name: "x", Values: a}, {Name: "x", Values: b}}, false, 0},
		"one with a name":       {[]Array{{Name: "y", Values: b}, {Values: a}}, true, 0},
		"names that NumPy gave": {[]Array{{Name: "arr_0", Values: a}, {Name: "arr_1", Values: b}}, true, 0},
		"with their shapes":     {[]Array{{Shape: []int{2}, Values: a}, {Shape: []int{1, 2}, Values: b}}, true, 0},
		"another shape":         {[]Array{{Shape: []int{2}, Values: a}, {Shape: []int{2, 1}, Values: b}}, false, 0},
		"without names, turned": {[]Array{{Values: b}, {Values: a}}, false, 0},
		"one array":             {[]Array{{Values: a}}, false, 0},
		"three arrays":          {[]Array{{Values: a}, {Values: b}, {Values: b}}, false, 0},
		"beyond the range":      {[]Array{{Values: a}, {Values: []float64{1.5, 100}}}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clamped, err := compare(g, public, c.file)
			if (err == nil) != c.valid || clamped != c.clamped || err != nil && !errors.Is(err, ErrOtherInput) {
				t.Errorf("%d values clamped, %v", clamped, err)
			}
		})
	}
}

// A shape is the input's, but for a batch of one: a picture in another order of axes, or three
// for one, are other inputs even if the numbers are as many.
func TestShapesOfArrays(t *testing.T) {
	for _, c := range []struct {
		array, input []int
		fits         bool
	}{
		{nil, []int{1, 3, 8, 8}, true},
		{[]int{1, 3, 8, 8}, []int{1, 3, 8, 8}, true},
		{[]int{3, 8, 8}, []int{1, 3, 8, 8}, true},
		{[]int{1, 3, 8, 8}, []int{3, 8, 8}, true},
		{[]int{8, 8, 3}, []int{1, 3, 8, 8}, false},
		{[]int{1, 8, 8, 3}, []int{1, 3, 8, 8}, false},
		{[]int{3, 1, 8, 8}, []int{1, 3, 8, 8}, false},
		{[]int{192}, []int{1, 3, 8, 8}, false},
		{[]int{}, []int{1}, true},
		{[]int{1}, []int{}, true},
		{[]int{2, 3}, []int{6}, false},
	} {
		if fits(c.array, c.input) != c.fits {
			t.Errorf("%v for %v: want %v", c.array, c.input, c.fits)
		}
	}
}

// A key may call two inputs the same, and then its names say nothing: a proof
// about (x, x) must not pass for a file that says (x, y).
func TestSameInputOfOneName(t *testing.T) {
	x := model.Tensor{Name: "x", Shape: []int{2}, Min: -8, Max: 7, Frac: 1}
	g := &model.Graph{Tensors: []model.Tensor{x, x}, Inputs: []model.TensorID{0, 1}}
	public := [][]int32{{1, 2}, {1, 2}}
	file := []Array{{Name: "x", Values: []float64{0.5, 1}}, {Name: "y", Values: []float64{1.5, 3.5}}}
	if _, err := compare(g, public, file); err == nil {
		t.Error("accepted")
	}
	// Nor do its names turn round a file that has them twice as well.
	public = [][]int32{{1, 2}, {3, 7}}
	file = []Array{{Name: "x", Values: []float64{0.5, 1}}, {Name: "x", Values: []float64{1.5, 3.5}}}
	if _, err := compare(g, public, file); err != nil {
		t.Error(err)
	}
}
