package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// written builds with a graph and returns it as it is recognised, and its results
// and those of the operators as they were written.
func written(t *testing.T, shape []int, x []float64, build func(b *Builder, x Value) Value) (g *Graph, got, want []float64) {
	t.Helper()
	b := NewBuilder("test")
	b.Output("y", build(b, b.Input("x", Float, shape)))
	nodes := map[*value][]float64{}
	for _, v := range b.values {
		switch {
		case v.tensor != nil:
			nodes[v] = v.tensor.Float64s()
		case v.node == nil:
			nodes[v] = x
		default:
			in := make([]operand, len(v.node.in))
			for i, u := range v.node.in {
				in[i] = operand{shape: u.shape, f: nodes[u]}
			}
			out, err := evaluate(v.node.op, in, v.shape)
			if err != nil {
				t.Fatal(err)
			}
			nodes[v] = out.float64s()
		}
	}
	want = nodes[b.outputs[0].value]
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	values, err := g.RunFloat([][]float64{x})
	if err != nil {
		t.Fatal(err)
	}
	return g, values["y"], want
}

// A norm, however it is written, is one operator of the same value.
func TestNormsAreRecognised(t *testing.T) {
	one := func(b *Builder) Value { return b.Number(1) }
	eps := func(b *Builder, v Value) Value { return b.Add(v, b.Number(0.125)) }
	meanSquare := func(b *Builder, x Value, axes ...int) Value { return b.Reduce(Mean, b.Mul(x, x), axes, true) }
	centred := func(b *Builder, x Value) Value { return b.Sub(x, b.Reduce(Mean, x, []int{2}, true)) }
	rms, layer, l2 := Norm{Axes: []int{2}, Epsilon: 0.125}, Norm{Axes: []int{2}, Centred: true, Epsilon: 0.125}, Norm{Axes: []int{2}, Sum: true}
	for name, c := range map[string]struct {
		build func(b *Builder, x Value) Value
		want  Norm
	}{
		"x/√": {func(b *Builder, x Value) Value { return b.Div(x, b.Apply(Sqrt, eps(b, meanSquare(b, x, 2)))) }, rms},
		"eps +": {func(b *Builder, x Value) Value {
			return b.Div(x, b.Apply(Sqrt, b.Add(b.Number(0.125), meanSquare(b, x, 2))))
		}, rms},
		"no eps": {func(b *Builder, x Value) Value { return b.Div(x, b.Apply(Sqrt, meanSquare(b, x, 2))) },
			Norm{Axes: []int{2}}},
		"two axes": {func(b *Builder, x Value) Value { return b.Div(x, b.Apply(Sqrt, eps(b, meanSquare(b, x, 0, 2)))) },
			Norm{Axes: []int{0, 2}, Epsilon: 0.125}},
		"reciprocal": {func(b *Builder, x Value) Value {
			return b.Mul(x, b.Apply(Reciprocal, b.Apply(Sqrt, eps(b, meanSquare(b, x, 2)))))
		}, rms},
		"1/√": {func(b *Builder, x Value) Value {
			return b.Mul(b.Div(one(b), b.Apply(Sqrt, eps(b, meanSquare(b, x, 2)))), x)
		}, rms},
		"√ of the reciprocal": {func(b *Builder, x Value) Value {
			return b.Mul(x, b.Apply(Sqrt, b.Apply(Reciprocal, eps(b, meanSquare(b, x, 2)))))
		}, rms},
		"power": {func(b *Builder, x Value) Value { return b.Mul(x, b.Pow(eps(b, meanSquare(b, x, 2)), b.Number(-0.5))) }, rms},
		"a sum times 1/n": {func(b *Builder, x Value) Value {
			return b.Mul(x, b.Pow(eps(b, b.Mul(b.Reduce(Sum, b.Mul(x, x), []int{2}, true), b.Number(1.0/5))), b.Number(-0.5)))
		}, rms},
		"axes put back": {func(b *Builder, x Value) Value {
			mean := b.Reshape(b.Reduce(Mean, b.Mul(x, x), []int{2}, false), []int{2, 3, 1})
			return b.Mul(x, b.Pow(eps(b, mean), b.Number(-0.5)))
		}, rms},
		"layer norm": {func(b *Builder, x Value) Value {
			d := centred(b, x)
			return b.Div(d, b.Apply(Sqrt, eps(b, meanSquare(b, d, 2))))
		}, layer},
		"layer norm, its differences twice": {func(b *Builder, x Value) Value {
			return b.Div(centred(b, x), b.Apply(Sqrt, eps(b, meanSquare(b, centred(b, x), 2))))
		}, layer},
		"LayerNorm": {func(b *Builder, x Value) Value { return b.LayerNorm(x, 2, 0.125, ones(b, 5)) }, layer},
		"L2": {func(b *Builder, x Value) Value {
			return b.Div(x, b.Apply(Sqrt, b.Reduce(Sum, b.Mul(x, x), []int{2}, true)))
		}, l2},
		"L2 with a least": {func(b *Builder, x Value) Value {
			root := b.Clip(b.Apply(Sqrt, b.Reduce(Sum, b.Mul(x, x), []int{2}, true)), 1e-12, math.Inf(1))
			return b.Div(x, b.Expand(root, []int{2, 3, 5}))
		}, Norm{Axes: []int{2}, Sum: true, Epsilon: 1e-24}},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			x := make([]float64, 30)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			g, got, want := written(t, []int{2, 3, 5}, x, c.build)
			if s := fmt.Sprintf("%+v", g.Nodes[0].Op); s != fmt.Sprintf("%+v", c.want) {
				t.Errorf("%s, want %+v", s, c.want)
			}
			if n := len(g.Nodes); n > 1 && name != "LayerNorm" {
				t.Errorf("%d nodes", n)
			}
			for i := range want {
				if d := math.Abs(got[i] - want[i]); d > 1e-7*math.Abs(want[i]) {
					t.Errorf("element %d is %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
}

// What only looks like a norm stays what it is.
func TestNoNorms(t *testing.T) {
	for name, build := range map[string]func(b *Builder, x Value) Value{
		"of another value": func(b *Builder, x Value) Value {
			y := b.Apply(Sin, x)
			return b.Div(x, b.Apply(Sqrt, b.Reduce(Mean, b.Mul(y, y), []int{1}, true)))
		},
		"a product of two": func(b *Builder, x Value) Value {
			return b.Div(x, b.Apply(Sqrt, b.Reduce(Mean, b.Mul(x, b.Apply(Exp, x)), []int{1}, true)))
		},
		"a negative epsilon": func(b *Builder, x Value) Value {
			return b.Div(x, b.Apply(Sqrt, b.Add(b.Reduce(Mean, b.Mul(x, x), []int{1}, true), b.Number(-1e-3))))
		},
		"a bound from below": func(b *Builder, x Value) Value {
			return b.Div(x, b.Clip(b.Apply(Sqrt, b.Reduce(Sum, b.Mul(x, x), []int{1}, true)), 0.5, math.Inf(1)))
		},
		"other rows": func(b *Builder, x Value) Value {
			return b.Div(x, b.Apply(Sqrt, b.Reduce(Mean, b.Mul(x, x), []int{0}, false)))
		},
		"scaled": func(b *Builder, x Value) Value {
			return b.Div(x, b.Apply(Sqrt, b.Mul(b.Reduce(Sum, b.Mul(x, x), []int{1}, true), b.Number(0.3))))
		},
		"2/√": func(b *Builder, x Value) Value {
			return b.Mul(x, b.Div(b.Number(2), b.Apply(Sqrt, b.Reduce(Sum, b.Mul(x, x), []int{1}, true))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := make([]float64, 2*(MaxComponents+1)) // rows of more have no magnitude
			for i := range x {
				x[i] = float64(1 + i)
			}
			g, got, want := written(t, []int{2, MaxComponents + 1}, x, build)
			for _, n := range g.Nodes {
				if _, is := n.Op.(Norm); is {
					t.Errorf("%+v", n)
				}
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("element %d is %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
}

// causal is 0 on and below the diagonal and c above it.
func causal(b *Builder, n int, c float64) Value {
	v := make([]float32, n*n)
	for i := range v {
		if i%n > i/n {
			v[i] = float32(c)
		}
	}
	return b.Constant("", &Tensor{Shape: []int{n, n}, DType: Float, F32: v})
}

// Masks become operands of the Softmax, and what is added besides stays added.
func TestMasksAreRecognised(t *testing.T) {
	truth := func(b *Builder, n int, v int64) Value {
		c := make([]int64, n*n)
		for i := range c {
			if i%n > i/n {
				c[i] = 1 - v
			} else {
				c[i] = v
			}
		}
		return b.Constant("", &Tensor{Shape: []int{n, n}, DType: Bool, I64: c})
	}
	const n = 4
	for name, c := range map[string]struct {
		build func(b *Builder, x Value) Value
		nodes int
	}{
		"added":   {func(b *Builder, x Value) Value { return b.Add(x, causal(b, n, -1e9)) }, 1},
		"first":   {func(b *Builder, x Value) Value { return b.Add(causal(b, n, -1e4), x) }, 1},
		"minus ∞": {func(b *Builder, x Value) Value { return b.Add(x, causal(b, n, math.Inf(-1))) }, 1},
		"least":   {func(b *Builder, x Value) Value { return b.Add(x, causal(b, n, -math.MaxFloat32)) }, 1},
		"where":   {func(b *Builder, x Value) Value { return b.Where(truth(b, n, 1), x, b.Number(-1e9)) }, 1},
		"where not": {func(b *Builder, x Value) Value {
			return b.Where(truth(b, n, 0), b.Constant("", &Tensor{Shape: []int{}, DType: Float, F32: []float32{float32(math.Inf(-1))}}), x)
		}, 1},
		"both": {func(b *Builder, x Value) Value {
			pad := b.Constant("", &Tensor{Shape: []int{n}, DType: Float, F32: []float32{0, 0, 0, -1e9}})
			return b.Add(b.Where(truth(b, n, 1), x, b.Number(-1e9)), pad)
		}, 1},
		"and a bias": {func(b *Builder, x Value) Value {
			return b.Add(x, b.Constant("", &Tensor{Shape: []int{n}, DType: Float, F32: []float32{0, 2, 0, -1e9}}))
		}, 2},
		"nothing": {func(b *Builder, x Value) Value { return b.Add(x, causal(b, n, -10)) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			x := make([]float64, 2*n*n)
			for i := range x {
				x[i] = 100 * rng.NormFloat64()
			}
			g, got, want := written(t, []int{2, n, n}, x, func(b *Builder, x Value) Value { return b.Softmax(c.build(b, x), 2) })
			if len(g.Nodes) != c.nodes {
				t.Errorf("%d nodes, want %d", len(g.Nodes), c.nodes)
			}
			if last := g.Nodes[len(g.Nodes)-1]; name != "nothing" && len(last.Inputs) != 2 {
				t.Error("no mask")
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("element %d is %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
}

func TestRowsOfNothing(t *testing.T) {
	b := NewBuilder("test")
	b.At("Softmax", "attention")
	mask := b.Constant("", &Tensor{Shape: []int{2, 2}, DType: Float, F32: []float32{0, -1e9, -1e9, -1e9}})
	b.Output("y", b.Softmax(b.Add(b.Input("x", Float, []int{2, 2}), mask), 1))
	if _, err := b.Graph(); err == nil || !strings.Contains(err.Error(), "masked altogether") {
		t.Errorf("error %v", err)
	}
}

// The root of a sum of a few squares is a product with a norm, of the same value.
func TestMagnitudesAreRecognised(t *testing.T) {
	square := func(b *Builder, v Value) Value { return b.Mul(v, v) }
	part := func(b *Builder, x Value, i int) Value {
		return b.Slice(x, []int{0, i, 0}, []int{1, 1, 1}, []int{2, 1, 5})
	}
	for name, c := range map[string]struct {
		build func(b *Builder, x Value) Value
		is    bool
	}{
		"a sum":           {func(b *Builder, x Value) Value { return b.Apply(Sqrt, b.Reduce(Sum, square(b, x), []int{1}, true)) }, true},
		"without an axis": {func(b *Builder, x Value) Value { return b.Apply(Sqrt, b.Reduce(Sum, square(b, x), []int{1}, false)) }, true},
		"two parts": {func(b *Builder, x Value) Value {
			return b.Apply(Sqrt, b.Add(square(b, part(b, x, 0)), square(b, part(b, x, 2))))
		}, true},
		"three parts": {func(b *Builder, x Value) Value {
			return b.Apply(Sqrt, b.Add(square(b, part(b, x, 0)), b.Add(square(b, part(b, x, 2)), square(b, part(b, x, 1)))))
		}, true},
		"a part that is no square": {func(b *Builder, x Value) Value {
			return b.Apply(Sqrt, b.Add(square(b, part(b, x, 0)), b.Apply(Exp, part(b, x, 2))))
		}, false},
		"parts that broadcast": {func(b *Builder, x Value) Value {
			return b.Apply(Sqrt, b.Add(square(b, part(b, x, 0)), square(b, x)))
		}, false},
		"a mean":     {func(b *Builder, x Value) Value { return b.Apply(Sqrt, b.Reduce(Mean, square(b, x), []int{1}, true)) }, false},
		"two axes":   {func(b *Builder, x Value) Value { return b.Apply(Sqrt, b.Reduce(Sum, square(b, x), []int{1, 2}, true)) }, false},
		"one square": {func(b *Builder, x Value) Value { return b.Apply(Sqrt, square(b, x)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(0, 0))
			x := make([]float64, 30)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			x[0], x[5], x[10] = 0, 0, 0 // a row of zeros
			g, got, want := written(t, []int{2, 3, 5}, x, c.build)
			norms := 0
			for _, n := range g.Nodes {
				if _, is := n.Op.(Norm); is {
					norms++
				}
			}
			if c.is != (norms == 1) {
				t.Errorf("%d norms", norms)
			}
			for i := range want {
				if d := math.Abs(got[i] - want[i]); d > 1e-6*math.Abs(want[i]) {
					t.Errorf("element %d is %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
}

// TestDeviationsAreRecognised: (x − θ)²/σ² of an input is a square of quotients of what the input's features are scaled to, and
// what differs in what it may be taken for is left as it is.
func TestDeviationsAreRecognised(t *testing.T) {
	const rows, classes, features = 3, 2, 4
	theta := []float32{1000, 0.002, -5, 7, 1200, 0.001, -4, 9}
	variance := []float32{1e4, 1e-7, 2, 3, 3e4, 2e-7, 1, 5}
	negative := append([]float32{-1}, variance[1:]...)
	x := []float64{1100, 0.001, -6, 8, 900, 0.003, -4, 6, 1300, 0.0015, -5, 10}
	constant := func(b *Builder, v []float32) Value {
		return b.Table(&Tensor{Shape: []int{1, classes, features}, DType: Float, F32: v})
	}
	square := func(b *Builder, x Value) Value {
		d := b.Sub(b.Reshape(x, []int{rows, 1, features}), constant(b, theta))
		return b.Mul(d, d)
	}
	for name, c := range map[string]struct {
		build func(b *Builder, x Value) Value
		is    bool
	}{
		"a likelihood": {func(b *Builder, x Value) Value { return b.Div(square(b, x), constant(b, variance)) }, true},
		"a power": {func(b *Builder, x Value) Value {
			return b.Div(b.Pow(b.Sub(b.Reshape(x, []int{rows, 1, features}), constant(b, theta)), b.Number(2)), constant(b, variance))
		}, true},
		"of two readers": {func(b *Builder, x Value) Value {
			return b.Add(b.Div(square(b, x), constant(b, variance)), b.Reshape(x, []int{rows, 1, features}))
		}, false},
		"not positive": {func(b *Builder, x Value) Value { return b.Div(square(b, x), constant(b, negative)) }, false},
		"of no input": {func(b *Builder, x Value) Value {
			return b.Div(square(b, b.Apply(Exp, b.Mul(x, b.Number(1e-3)))), constant(b, variance))
		}, false},
		"features in turn": {func(b *Builder, x Value) Value {
			d := b.Sub(b.Reshape(b.Transpose(b.Reshape(x, []int{rows, 2, 2}), []int{0, 2, 1}), []int{rows, 1, features}), constant(b, theta))
			return b.Div(b.Mul(d, d), constant(b, variance))
		}, false},
	} {
		g, got, want := written(t, []int{rows, features}, x, c.build)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-4*(1+math.Abs(want[i])) {
				t.Errorf("%s: entry %d is %v, not %v", name, i, got[i], want[i])
			}
		}
		if first := g.Nodes[0]; (first.Op == Sub && first.Inputs[0] == "x") != c.is {
			t.Errorf("%s: %s of %v comes first", name, Kind(first.Op), first.Inputs)
		}
	}
}

// TestLogOfMovedPower: the logarithm of a power that is moved before is recognised, whether or not the sum keeps its axis.
func TestLogOfMovedPower(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 0, 0, 0.5, 1e-3, 7, 8}
	for _, c := range []struct {
		keep bool
		axis int
		perm []int
		root bool
	}{
		{true, 2, []int{2, 1, 0}, false}, {true, 1, []int{1, 0, 2}, false}, {true, 0, []int{2, 0, 1}, true},
		{false, 2, []int{1, 0}, false}, {false, 1, []int{1, 0}, true},
	} {
		g, got, want := written(t, []int{3, 2, 2}, x, func(b *Builder, x Value) Value {
			s := b.Reduce(Sum, b.Mul(x, x), []int{c.axis}, c.keep)
			if c.root {
				s = b.Apply(Sqrt, s)
			}
			if s = b.Transpose(s, c.perm); c.root {
				s = b.Mul(s, s)
			}
			y := b.Apply(Log, b.Add(s, b.Number(1e-3)))
			return b.Reshape(y, []int{Size(b.Shape(y))})
		})
		recognised := false
		for _, n := range g.Nodes {
			_, is := n.Op.(LogPower)
			recognised = recognised || is
		}
		if !recognised {
			t.Errorf("%v: not recognised", c)
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-6*(1+math.Abs(want[i])) {
				t.Errorf("%v: entry %d is %v, not %v", c, i, got[i], want[i])
			}
		}
	}
}

// TestRecognisedBeyondLimits: what is recognised stays as the model has it where no operation more is allowed.
func TestRecognisedBeyondLimits(t *testing.T) {
	factors := []float32{1, 1 << 20}
	for name, build := range map[string]func(b *Builder, x Value) Value{
		"a magnitude": func(b *Builder, x Value) Value { return b.Apply(Sqrt, b.Reduce(Sum, b.Mul(x, x), []int{1}, true)) },
		"the logarithm of a power": func(b *Builder, x Value) Value {
			return b.Apply(Log, b.Transpose(b.Reduce(Sum, b.Mul(x, x), []int{1}, true), []int{1, 0}))
		},
		"factors of channels": func(b *Builder, x Value) Value {
			return b.Mul(b.Apply(Relu, x), b.floats("factors", []int{2}, factors))
		},
	} {
		b := NewBuilder("test")
		b.Output("y", build(b, b.Input("x", Float, []int{3, 2})))
		n := len(b.nodes)
		b.work = 0
		g, err := b.Graph()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if len(g.Nodes) != n {
			t.Errorf("%s: %d operators, not %d", name, len(g.Nodes), n)
		}
	}
}
