package graph

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// stump is a forest of one tree with two leaves.
func stump(b *Builder, bits Value) Value {
	w := b.Constant("", &Tensor{Shape: []int{2, 1}, DType: Float, F32: []float32{-1, 2}})
	return b.Forest(Forest{Roots: []Child{0}, Branches: []Branch{{0, ^Child(0), ^Child(1)}}}, bits, w)
}

// TestExceedsLooksThrough asks splits of a value that is scaled and moved: what is asked
// is the input, and the answers are those of float32 arithmetic, at the thresholds and
// next to them too.
func TestExceedsLooksThrough(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	offset, scale := []float32{0.1, -3.3, 1e5}, []float32{1e-3, 7.7, 0.3}
	var splits []Split
	for j := range 3 {
		for range 20 {
			x := float32(rng.NormFloat64() * 1e3)
			splits = append(splits, Split{j, (x - offset[j]) * scale[j], rng.IntN(2) == 0})
		}
	}
	b := NewBuilder("scaled")
	x := b.Input("x", Float, []int{4, 3})
	y := b.Mul(b.Sub(x, b.Constant("o", &Tensor{Shape: []int{3}, DType: Float, F32: offset})), b.Constant("s", &Tensor{Shape: []int{3}, DType: Float, F32: scale}))
	b.Output("bits", b.Exceeds(b.Gather(y, 1, []int{0, 1, 2}), splits))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Nodes) != 1 {
		t.Fatalf("%d nodes, and the input alone should be asked", len(g.Nodes))
	}
	asked := g.Nodes[0].Op.(Exceeds).Splits
	for i, s := range splits {
		at := asked[i].Value
		for range 3 {
			at = math.Nextafter32(at, float32(math.Inf(-1)))
		}
		for range 7 {
			if want := s.Holds(float64((at - offset[s.Feature]) * scale[s.Feature])); asked[i].Holds(float64(at)) != want {
				t.Fatalf("split %v, asked as %v: %v of %v", s, asked[i], !want, at)
			}
			at = math.Nextafter32(at, float32(math.Inf(1)))
		}
	}
}

// TestExceedsBesideConstants asks splits of features of which some are constants: these
// are asked where they stand, and the others of the input.
func TestExceedsBesideConstants(t *testing.T) {
	b := NewBuilder("beside")
	x := b.Input("x", Float, []int{2, 3})
	c := b.Constant("c", &Tensor{Shape: []int{2, 2}, DType: Float, F32: []float32{1, -1, -2, 2}})
	y := b.Concat(1, x, c)
	b.Output("bits", b.Exceeds(y, []Split{{Feature: 4}, {Feature: 1}, {Feature: 3}}))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	values, err := g.RunFloat([][]float64{{-5, 6, 7, 8, -9, 10}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := values[g.Outputs[0]], []float64{0, 1, 1, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestExceedsOfFilling asks splits of features that are the zeros with which a Gather fills.
func TestExceedsOfFilling(t *testing.T) {
	b := NewBuilder("filled")
	x := b.Input("x", Float, []int{2, 3})
	splits := []Split{{Feature: 1, Value: -0.5}, {Feature: 0, Value: 3}, {Feature: 1, Value: 0.5}}
	b.Output("bits", b.Exceeds(b.Gather(x, 1, []int{2, -1, 0}), splits))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	values, err := g.RunFloat([][]float64{{-5, 6, 7, 8, -9, 2}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := values["bits"], []float64{1, 1, 0, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestForestErrors holds what is no forest against the reasons that are given.
func TestForestErrors(t *testing.T) {
	leaf := func(i int) Child { return ^Child(i) }
	for _, c := range []struct {
		want string
		f    Forest
	}{
		{"below two others", Forest{Roots: []Child{0}, Branches: []Branch{{0, leaf(0), leaf(0)}}}},
		{"is in no tree", Forest{Roots: []Child{leaf(0)}}},
		{"below two others", Forest{Roots: []Child{0}, Branches: []Branch{{0, 0, leaf(1)}}}},
		{"numbered -3", Forest{Roots: []Child{0}, Branches: []Branch{{0, leaf(2), leaf(1)}}}},
		{"by bit 5", Forest{Roots: []Child{0}, Branches: []Branch{{5, leaf(0), leaf(1)}}}},
		{"base values", Forest{Roots: []Child{0}, Branches: []Branch{{0, leaf(0), leaf(1)}}, Base: []float64{1, 2}}},
	} {
		b := NewBuilder("bad")
		bits := b.Exceeds(b.Input("x", Float, []int{2, 1}), []Split{{0, 1, false}})
		w := b.Constant("w", &Tensor{Shape: []int{2, 1}, DType: Float, F32: []float32{1, 2}})
		b.Output("y", b.Forest(c.f, bits, w))
		if _, err := b.Graph(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; it should say %q", err, c.want)
		}
	}
	b := NewBuilder("good")
	b.Output("y", stump(b, b.Exceeds(b.Input("x", Float, []int{2, 1}), []Split{{0, 1, false}})))
	if _, err := b.Graph(); err != nil {
		t.Error(err)
	}
}
