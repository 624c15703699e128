package provemodel

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// A limit changes no byte; one that is too small is refused before anything is done, with
// the least that will do.
func TestLimitMemory(t *testing.T) {
	c, in := commit(t, quick...)
	p, err := Prove(t.Context(), c, in, proveWith(quick...))
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Circuit().Estimate(in, commitWith(quick...), proveWith(quick...))
	if err != nil {
		t.Fatal(err)
	}
	if e.Memory < e.Beside || e.Least < 64<<20 || e.Commit <= 0 || e.Prove <= 0 || e.Device != 0 {
		t.Errorf("%+v", *e)
	}
	small, err := LimitMemory(64<<20, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var short *MemoryError
	if _, err := Prove(t.Context(), c, in, proveWith(quick...)); !errors.As(err, &short) || short.Limit != 64<<20 || short.Least != e.Least {
		t.Errorf("%v", err)
	}
	if _, err := Commit(t.Context(), c.Circuit(), commitWith(quick...)); !errors.As(err, &short) {
		t.Errorf("a commitment: %v", err)
	}
	if _, err := LimitMemory(1<<40, ""); !errors.Is(err, arena.ErrBound) {
		t.Errorf("a second limit: %v", err)
	}
	if _, err := small(); err != nil {
		t.Error(err)
	}
	large, err := LimitMemory(e.Least, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other, q := prove(t, quick...)
	filed, err := large()
	if err != nil || runtime.GOOS == "linux" && filed == 0 {
		t.Errorf("%d bytes in files, %v", filed, err)
	}
	if other.Commitment() != c.Commitment() || !slices.Equal(p.File, q.File) {
		t.Error("another key or proof")
	}
	if arena.Bounded() != 0 {
		t.Error("the limit is still in force")
	}
}

// What a float model's run takes is known before it is run.
func TestFloatRunWithinMemory(t *testing.T) {
	quantised := func(outputs ...int) error {
		b := graph.NewBuilder("wide")
		x := b.Expand(b.Input("x", graph.Float, []int{1}), []int{outputs[0], 1 << 10})
		b.At("Relu", "large")
		y := b.Apply(graph.Relu, x)
		if len(outputs) == 1 {
			y = b.Reduce(graph.Sum, y, []int{0, 1}, true)
		}
		b.Output("y", y)
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		_, err = Quantise(t.Context(), NewModel(g), []Input{{{1}}}, nil)
		return err
	}
	end, err := LimitMemory(255<<20, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var short *MemoryError
	if err := quantised(1 << 14); !errors.As(err, &short) || short.Least != 2<<14<<10<<3 || !strings.Contains(short.At, `"large`) {
		t.Errorf("a run of two values of 2^24 elements in 255 MB: %v", err)
	}
	if _, err := end(); err != nil {
		t.Error(err)
	}
	if err := quantised(1<<14+1, 0); err == nil || !strings.Contains(err.Error(), `output "y"`) {
		t.Errorf("an output of more than 2^24 entries: %v", err)
	}
}
