package onnx

import (
	"math"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// scanOf is a Scan of y, rows, beside x, which is the state, with these nodes and a state that is kept.
func scanOf(t *testing.T, nodes ...*onnxpb.NodeProto) []byte {
	keep := testNode("Identity", one("s"), one("s_out"))
	body := &onnxpb.GraphProto{Node: append(nodes, keep), Input: []*onnxpb.ValueInfoProto{{Name: "s"}, {Name: "r"}}, Output: []*onnxpb.ValueInfoProto{{Name: "s_out"}, {Name: "d"}}}
	n := testNode("Scan", []string{"x", "list"}, []string{"same", "y"}, "num_scan_inputs", 1)
	n.Attribute = append(n.Attribute, &onnxpb.AttributeProto{Name: "body", Type: onnxpb.AttributeProto_GRAPH, G: body})
	m := testModel(11, n)
	m.Graph.Initializer = append(m.Graph.Initializer, testFloats("list", []int64{4, 3}, 1, 2, 3, 0, -1, 2, 5, 5, 5, 0.5, 0, 1))
	return marshal(t, m)
}

// TestMapping: a Scan whose state stays is built once for all rows, and gives what its loop gives; one that has an operator which a
// mapping is not made of, or changes its state, is a loop.
func TestMapping(t *testing.T) {
	distances := []*onnxpb.NodeProto{
		testNode("Sub", []string{"s", "r"}, one("c")), testNode("Identity", one("c"), one("i")),
		testNode("ReduceSumSquare", one("i"), one("q"), "axes", []int64{1}, "keepdims", 0), testNode("Sqrt", one("q"), one("d")),
	}
	x := []float64{1, 0, 2, -1, 3, 0.5}
	list := [][]float64{{1, 2, 3}, {0, -1, 2}, {5, 5, 5}, {0.5, 0, 1}}
	nodes := map[string]int{}
	for name, body := range map[string][]*onnxpb.NodeProto{
		"mapping": distances,
		"loop":    append(append([]*onnxpb.NodeProto{}, distances[:3]...), testNode("Relu", one("q"), one("z")), testNode("Sqrt", one("z"), one("d"))),
	} {
		g, err := Parse(scanOf(t, body...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		nodes[name] = len(g.Nodes)
		values, err := g.RunFloat([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range list {
			for j := range 2 {
				want := 0.0
				for k, v := range row {
					want += (x[3*j+k] - v) * (x[3*j+k] - v)
				}
				if got := values["y"][2*i+j]; math.Abs(got-math.Sqrt(want)) > 1e-6 {
					t.Errorf("%s: distance of %d and %d is %v, not %v", name, i, j, got, math.Sqrt(want))
				}
			}
		}
	}
	if nodes["mapping"] > 8 || nodes["loop"] < 16 {
		t.Errorf("%d nodes of a mapping, %d of a loop of four trips", nodes["mapping"], nodes["loop"])
	}
}

// TestRepeatedSteps: a quotient by a step of a list that is 0 somewhere, of which the model asks whether it is NaN, is refused with
// the list and the entries, before any run; without repeated entries, or without the question, it is not.
func TestRepeatedSteps(t *testing.T) {
	for _, c := range []struct {
		list  []float32
		asked bool
		why   string
	}{
		{[]float32{0, 1, 1, 3}, true, `"list", of which entries 1 and 2 are both 1`},
		{[]float32{0, 0, 1, 3}, true, ""},                // filled up
		{[]float32{0, 0, 1, 3, 5, 5, 6, 7}, true, ""},    // two columns that are
		{[]float32{0, 0, 1, 3, 5, 5, 5, 7}, true, "are"}, // the least quantile of the second is repeated
		{[]float32{0, 0, 1, 1, 5, 5, 6, 7}, true, "are"},
		{[]float32{0, 1, 2, 3}, true, ""},
		{[]float32{0, 1, 1, 3}, false, ""},
	} {
		nodes := []*onnxpb.NodeProto{
			testNode("ArgMax", one("x"), one("i"), "axis", 1, "keepdims", 0), testNode("Add", []string{"i", "one"}, one("j")),
			testNode("Gather", []string{"list", "j"}, one("high")), testNode("Gather", []string{"list", "i"}, one("low")),
			testNode("Sub", []string{"high", "low"}, one("step")), testNode("Div", []string{"low", "step"}, one("q")),
		}
		if c.asked {
			nodes = append(nodes, testNode("IsNaN", one("q"), one("n")), testNode("Where", []string{"n", "low", "q"}, one("y")))
		} else {
			nodes = append(nodes, testNode("Neg", one("q"), one("y")))
		}
		m := testModel(13, nodes...)
		m.Graph.Initializer = append(m.Graph.Initializer, testFloats("list", []int64{int64(len(c.list))}, c.list...), testInts("one", 1))
		_, err := Parse(marshal(t, m), Options{})
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%v, asked %v: %v; want %q", c.list, c.asked, err, c.why)
		}
	}
}
