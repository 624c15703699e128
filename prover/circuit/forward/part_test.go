package forward

import (
	"context"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// What is wanted of a run, and its outputs, are those of a whole one; all else is gone, and
// memory that was given back is not read again.
func TestRunPart(t *testing.T) {
	defer arena.Poison()()
	g, weights := smallGraph()
	in := [][]int32{{10, 3}}
	whole, err := Run(context.Background(), g, weights, in)
	if err != nil {
		t.Fatal(err)
	}
	made := func(id model.TensorID) bool {
		return slices.ContainsFunc(g.Steps, func(s model.Step) bool { return s.Out == id || s.Lo == id })
	}
	for id := range g.Tensors {
		a := &arena.Arena{}
		w, err := RunPart(context.Background(), g, weights, in, []model.TensorID{model.TensorID(id)}, a)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := w.Tensor(g.Outputs[0]), whole.Tensor(g.Outputs[0]); !slices.Equal(got, want) {
			t.Errorf("output %v, not %v", got, want)
		}
		if !made(model.TensorID(id)) {
			a.Close()
			continue
		}
		if got, want := w.Tensor(model.TensorID(id)), whole.Tensor(model.TensorID(id)); !slices.Equal(got, want) {
			t.Errorf("tensor %d: %v, not %v", id, got, want)
		}
		for other := range g.Tensors {
			// The output is made of tensors 5 and 6.
			if want := other == id || other == 5 || other == 6; made(model.TensorID(other)) && (w.Values[other] != nil) != want {
				t.Errorf("tensor %d of a run for %d: %v", other, id, w.Values[other])
			}
		}
		if slices.ContainsFunc(w.Keys, func(k []int32) bool { return k != nil }) {
			t.Error("keys are kept")
		}
		a.Close()
	}
	if _, err := RunPart(context.Background(), g, weights, [][]int32{{101, 3}}, nil, nil); err == nil {
		t.Error("an input beyond its range")
	}
}
