package onnx

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/narrow"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// A run of what a file states rounds where it casts to 16 bits; the graph itself does not.
func TestCastsToHalves(t *testing.T) {
	for _, to := range []graph.DType{graph.Float16, graph.BFloat16} {
		m := testModel(13, testNode("Cast", one("x"), one("h"), "to", int(to)), testNode("Cast", one("h"), one("y"), "to", int(graph.Float)))
		g, err := Parse(marshal(t, m), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if g.Typed == nil {
			t.Fatalf("%v: nothing is rounded", to)
		}
		typed, err := g.Typed()
		if err != nil {
			t.Fatal(err)
		}
		// Half-way between 1 and the next number, and a little more; a subnormal of float16;
		// beyond its largest number, and far beyond.
		x := []float64{1 + 1./2048, 1 + 1./2048 + 1./(1<<20), 3.1e-7, 65521, -1e20, -1.0025}
		want := map[graph.DType][]float64{
			graph.Float16:  {1, 1 + 1./1024, 5. / (1 << 24), math.Inf(1), math.Inf(-1), -1.0029296875},
			graph.BFloat16: {1, 1, float64(narrow.BFloat16(0x34a6)), 65536, -math.Ldexp(1+45./128, 66), -1},
		}[to]
		plain, err := g.RunFloat([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		got, err := typed.RunFloat([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		for i := range x {
			if plain["y"][i] != x[i] || got["y"][i] != want[i] {
				t.Errorf("%v: %v is %v in %v, not %v, and %v without", to, x[i], got["y"][i], to, want[i], plain["y"][i])
			}
		}
	}
	if g, err := Parse(marshal(t, testModel(13, testNode("Neg", one("x"), one("y")))), Options{}); err != nil || g.Typed != nil {
		t.Errorf("a model of float32 has another run of its own: %v", err)
	}
}

// Before a cast to integers a model of float32 has rounded tanh(10) to 1, and one of doubles
// has not.
func TestJumpsInTheModelsType(t *testing.T) {
	for _, double := range []bool{false, true} {
		m := testModel(13, testNode("Tanh", one("x"), one("t")), testNode("Cast", one("t"), one("y"), "to", int(graph.Int32)))
		want := []float64{1, -1, 0, 0, 0, 0}
		if double {
			m.Graph.Input[0].Type.Value.(*onnxpb.TypeProto_TensorType).TensorType.ElemType = int32(graph.Double)
			want[0], want[1] = 0, 0
		}
		g, err := Parse(marshal(t, m), Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.RunFloat([][]float64{{10, -12, 5, 0, 1, -1}})
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range got["y"] {
			if y != want[i] {
				t.Errorf("doubles %v: entry %d is %v, not %v", double, i, y, want[i])
			}
		}
	}
}

// A run of what a file states has its doubles, inputs and constants, where the graph has floats: also with an axis that is open.
func TestDoublesThatNoFloatHolds(t *testing.T) {
	m := testModel(13, testNode("Sub", []string{"x", "c"}, one("y")))
	m.Graph.Input = []*onnxpb.ValueInfoProto{testInput("x", "n", 1)}
	m.Graph.Input[0].Type.Value.(*onnxpb.TypeProto_TensorType).TensorType.ElemType = int32(graph.Double)
	m.Graph.Initializer = []*onnxpb.TensorProto{{Name: "c", DataType: int32(graph.Double), Dims: []int64{1}, DoubleData: []float64{999.99999}}}
	data, err := proto.Marshal(&onnxpb.TensorProto{Name: "x", DataType: int32(graph.Double), Dims: []int64{2, 1}, DoubleData: []float64{1000.00001, 1000.00002}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := refusal(parseTensor, data)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Parse(marshal(t, m), in.Options(nil))
	if err != nil {
		t.Fatal(err)
	}
	typed, err := g.Typed()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{2e-5, 3e-5} {
		plain, err := g.RunFloat(in.Data())
		if err != nil {
			t.Fatal(err)
		}
		got, err := typed.RunFloat(in.Data())
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got["y"][i]-want) > 1e-9 || math.Abs(plain["y"][i]-want) < 5e-6 {
			t.Errorf("row %d is %v, not %v, and of floats %v", i, got["y"][i], want, plain["y"][i])
		}
	}
}
