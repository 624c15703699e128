package forward

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

var errLost = errors.New("lost")

// away is a machine that has run everything and gives nothing back.
type away struct{ closed bool }

func (l *away) Run(context.Context, *model.Graph, model.Weights, [][]int32) (Kept, error) {
	return l, nil
}
func (l *away) Tensor(model.TensorID) ([]int32, error) { return nil, errLost }
func (l *away) Keys(int) ([]int32, error)              { return nil, errLost }
func (l *away) Count([]KeyRange) ([]int, error)        { return nil, errLost }
func (l *away) Close()                                 { l.closed = true }

// The values of a machine that is lost after its run are made again.
func TestLost(t *testing.T) {
	g, weights := smallGraph()
	want, err := Run(context.Background(), g, weights, [][]int32{{10, 3}})
	if err != nil {
		t.Fatal(err)
	}
	l := &away{}
	got, err := RunOn(context.Background(), l, g, weights, [][]int32{{10, 3}})
	if err != nil || got.Kept() != Kept(l) {
		t.Fatalf("%v, kept by %v", err, got.Kept())
	}
	for i := range g.Tensors {
		id := model.TensorID(i)
		if a, b := got.Tensor(id), want.Tensor(id); !slices.Equal(a, b) {
			t.Errorf("tensor %d: %v, want %v", i, a, b)
		}
	}
	if !slices.Equal(got.StepKeys(0), want.StepKeys(0)) {
		t.Error("other keys")
	}
	q := []KeyRange{{Step: 0, Min: 2, Max: 6}, {Step: 0, Min: 7, Max: 100}}
	if n := got.Count(q); !slices.Equal(n, []int{2, 1}) {
		t.Errorf("%d keys", n)
	}
	if !errors.Is(got.Err(), errLost) || want.Err() != nil {
		t.Errorf("errors %v and %v", got.Err(), want.Err())
	}
	got.Close()
	if !l.closed {
		t.Error("not closed")
	}
}
