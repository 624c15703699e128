package onnx

import (
	"math"
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
