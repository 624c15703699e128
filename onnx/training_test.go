package onnx

import (
	"math"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// stepOf runs a node of an optimiser on one tensor of two numbers, a rate of 0.1, and so many steps before.
func stepOf(t *testing.T, op string, count int64, states int, attrs ...any) map[string][]float64 {
	t.Helper()
	in, out := []string{"r", "t", "x", "g", "v", "h"}[:4+states], []string{"xn", "vn", "hn"}[:1+states]
	n := testNode(op, in, out, attrs...)
	n.Domain = training
	m := testModel(13, n)
	m.Graph.Initializer = []*onnxpb.TensorProto{{Name: "t", DataType: 7, Int64Data: []int64{count}}}
	m.Graph.Input, m.Graph.Output = []*onnxpb.ValueInfoProto{testInput("r")}, nil
	data := [][]float64{{0.1}, {1.2, 2.8}, {-0.94, -2.5}, {1.7, 3.6}, {0.1, 0.2}}[:3+states]
	for _, name := range in[2:] {
		m.Graph.Input = append(m.Graph.Input, testInput(name, 2))
	}
	for _, name := range out {
		m.Graph.Output = append(m.Graph.Output, &onnxpb.ValueInfoProto{Name: name})
	}
	g, err := Parse(marshal(t, m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	values, err := g.RunFloat(data)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// TestOptimisers: each step is that of its definition, after other steps too.
func TestOptimisers(t *testing.T) {
	const r, norm = 0.1, 0.01
	for _, count := range []int64{0, 3} {
		n := float64(count)
		adagrad := stepOf(t, "Adagrad", count, 1, "norm_coefficient", norm, "epsilon", 1e-5, "decay_factor", 0.1)
		adam := stepOf(t, "Adam", count, 2, "norm_coefficient", norm, "norm_coefficient_post", 0.02, "alpha", 0.95, "beta", 0.1, "epsilon", 1e-7)
		plain := stepOf(t, "Momentum", count, 1, "norm_coefficient", norm, "alpha", 0.95, "beta", 0.7, "mode", "standard")
		nesterov := stepOf(t, "Momentum", count, 1, "norm_coefficient", norm, "alpha", 0.95, "beta", 0.7, "mode", "nesterov")
		for i, x := range []float64{1.2, 2.8} {
			g, v, h := norm*x+[]float64{-0.94, -2.5}[i], []float64{1.7, 3.6}[i], []float64{0.1, 0.2}[i]
			near := func(name string, got, want float64) {
				t.Helper()
				if math.Abs(got-want) > 1e-5*math.Max(1, math.Abs(want)) {
					t.Errorf("%s after %d steps, number %d: %v, not %v", name, count, i, got, want)
				}
			}
			near("Adagrad", adagrad["xn"][i], x-r/(1+n*0.1)*g/(math.Sqrt(v+g*g)+1e-5))
			near("Adagrad", adagrad["vn"][i], v+g*g)
			rate := r
			if count > 0 {
				rate = r * math.Sqrt(1-math.Pow(0.1, n)) / (1 - math.Pow(0.95, n))
			}
			vn, hn := 0.95*v+0.05*g, 0.1*h+0.9*g*g
			near("Adam", adam["xn"][i], (1-0.02)*(x-rate*vn/(math.Sqrt(hn)+1e-7)))
			near("Adam", adam["vn"][i], vn)
			near("Adam", adam["hn"][i], hn)
			beta := 0.7
			if count == 0 {
				beta = 1
			}
			vn = 0.95*v + beta*g
			near("Momentum", plain["vn"][i], vn)
			near("Momentum", plain["xn"][i], x-r*vn)
			near("Nesterov", nesterov["xn"][i], x-r*(g+0.95*vn))
		}
	}
}

// gradientModel is a number of x, of shape [2, 3], through every operator that a gradient goes back through, and its gradient.
func gradientModel(y string) *onnxpb.ModelProto {
	n := testNode("Gradient", one("x"), one("dx"), "y", y)
	n.Domain = training
	n.Attribute = append(n.Attribute, &onnxpb.AttributeProto{Name: "xs", Type: onnxpb.AttributeProto_STRINGS, Strings: [][]byte{[]byte("x")}})
	m := testModel(13, testNode("MatMul", []string{"x", "w"}, one("a")), testNode("Tanh", one("a"), one("b")), testNode("Exp", one("b"), one("c")),
		testNode("Sigmoid", one("a"), one("d")), testNode("Div", []string{"c", "d"}, one("e")), testNode("Relu", one("a"), one("f")),
		testNode("Add", []string{"e", "f"}, one("g")), testNode("Mul", []string{"g", "s"}, one("h")), testNode("Sqrt", one("c"), one("i")),
		testNode("Log", one("e"), one("j")), testNode("Sub", []string{"h", "i"}, one("k")), testNode("Neg", one("j"), one("l")),
		testNode("Add", []string{"k", "l"}, one("m")), testNode("MatMul", []string{"u", "m"}, one("n")), testNode("Identity", one("n"), one("y")), n)
	m.Graph.Initializer = []*onnxpb.TensorProto{testFloats("w", []int64{3, 1}, 0.4, -0.7, 1.1), testFloats("s", []int64{1, 1}, 0.6), testFloats("u", []int64{1, 2}, 1.3, -0.5)}
	m.Graph.Output = append(m.Graph.Output, &onnxpb.ValueInfoProto{Name: "dx"})
	return m
}

// TestGradient: it is how much the number grows with each of the others.
func TestGradient(t *testing.T) {
	g, err := Parse(marshal(t, gradientModel("y")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{0.3, -0.2, 0.9, -1.1, 0.5, 0.8}
	at := func(x []float64) map[string][]float64 {
		values, err := g.RunFloat([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	got := at(x)["dx"]
	for i := range x {
		const h = 1e-4
		x[i] += h
		above := at(x)["y"][0]
		x[i] -= 2 * h
		want := (above - at(x)["y"][0]) / (2 * h)
		if x[i] += h; math.Abs(got[i]-want) > 1e-4 {
			t.Errorf("number %d: %v, not %v", i, got[i], want)
		}
	}
	if _, err := Parse(marshal(t, gradientModel("m")), Options{}); err == nil || !strings.Contains(err.Error(), "of one number") {
		t.Errorf("a gradient of two numbers: %v", err)
	}
}
