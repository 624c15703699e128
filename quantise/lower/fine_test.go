package lower

import (
	"reflect"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// Nodes that are alike share the columns of a function, unless one of them clamps it.
func TestLinesAreShared(t *testing.T) {
	var memory Memory
	l := &lowering{Builder: fixed.NewBuilder("", &memory.columns), memory: &memory}
	square := curve{at: func(x float64) float64 { return x * x }, key: "square"}
	lines := func(f curve, most float64) *lineColumns { return l.linesOf(f, -8, 16, 4, 6, 10, most, true) }
	wide, wider, clamped := lines(square, 5), lines(square, 50), lines(square, 3)
	if wide != wider {
		t.Error("columns that nothing clamps are not shared")
	}
	if clamped == wide || slices.Equal(clamped.start.Values, wide.start.Values) || len(clamped.start.Saturated) == 0 {
		t.Error("a function that is clamped has the columns of one that is not")
	}
	if lines(square, 3) != clamped {
		t.Error("columns with the same ends are not shared")
	}
	if lines(square, 5) != wide {
		t.Error("clamped columns have taken the place of others")
	}
	other := square
	other.key = "another"
	if alone := lines(other, 5); alone == wide || !reflect.DeepEqual(alone, wide) {
		t.Error("shared columns are not those of the function alone")
	}
}

// Nodes that are alike share the column of a function, unless it goes far beyond the reach of one.
func TestColumnsAreShared(t *testing.T) {
	var memory Memory
	l := &lowering{Builder: fixed.NewBuilder("", &memory.columns), memory: &memory, opts: Options{Headroom: 1}, fg: &graph.Graph{}}
	of := func(key string, reach float64) *fixed.Column {
		square := curve{at: func(x float64) float64 { return x * x }, key: key}
		return l.functionColumn(&value{rng: Range{Max: reach}, fn: &function{curve: square}}, -8, 7, 1, 12)
	}
	wide, wider, clamped := of("square", 10), of("square", 100), of("square", 3)
	if wide != wider {
		t.Error("columns that nothing clamps are not shared")
	}
	if clamped == wide || len(clamped.Saturated) == 0 || len(wide.Saturated) > 0 {
		t.Error("a function that is clamped has the column of one that is not")
	}
	if of("square", 3) != clamped || of("square", 10) != wide {
		t.Error("columns with the same ends are not shared")
	}
	for reach, shared := range map[float64]*fixed.Column{10: wide, 3: clamped} {
		if alone := of("", reach); alone == shared || !reflect.DeepEqual(alone, shared) {
			t.Error("a shared column is not that of the function alone")
		}
	}
}
