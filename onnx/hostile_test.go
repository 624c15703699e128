package onnx

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

var hostile = flag.Bool("hostile", false, "make each number of each operator's model large, not one in a few")

// variants calls visit with m in which one number after the other is n: a dimension of an
// input, an integer of a constant or of an attribute.
func variants(m *onnxpb.ModelProto, n int64, visit func(what string)) {
	try := func(v *int64, format string, args ...any) {
		old := *v
		*v = n
		visit(fmt.Sprintf(format, args...))
		*v = old
	}
	for _, in := range m.Graph.Input {
		for j, d := range in.GetType().GetTensorType().GetShape().GetDim() {
			old := d.Value
			d.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: n}
			visit(fmt.Sprintf("dimension %d of %s", j, in.GetName()))
			d.Value = old
		}
	}
	tensor := func(name string, t *onnxpb.TensorProto) {
		if t.GetDataType() != int32(graph.Int64) {
			return
		}
		for i := 0; i+8 <= len(t.RawData); i += 8 {
			t.Int64Data = append(t.Int64Data, int64(binary.LittleEndian.Uint64(t.RawData[i:])))
		}
		t.RawData = nil
		for i := range t.Int64Data[:min(16, len(t.Int64Data))] {
			try(&t.Int64Data[i], "%s[%d]", name, i)
		}
	}
	for _, t := range m.Graph.Initializer {
		tensor(t.GetName(), t)
	}
	var nodes func(g *onnxpb.GraphProto)
	nodes = func(g *onnxpb.GraphProto) {
		for _, node := range g.Node {
			for _, a := range node.Attribute {
				if a.T != nil {
					tensor(a.GetName(), a.T)
				}
				if a.G != nil {
					nodes(a.G)
				}
				if a.GetType() == onnxpb.AttributeProto_INT {
					try(&a.I, "%s.%s", node.GetOpType(), a.GetName())
				}
				for i := range a.Ints {
					try(&a.Ints[i], "%s.%s[%d]", node.GetOpType(), a.GetName(), i)
				}
			}
		}
	}
	nodes(m.Graph)
}

// No operator makes a large table, or computes for long, because one number in its model is
// large: it is refused first.
func TestOneLargeNumber(t *testing.T) {
	paths, err := filepath.Glob("testdata/operators/*.onnx")
	if err != nil || len(paths) < 100 {
		t.Fatal(len(paths), err)
	}
	count, each := 0, 23
	if *hostile {
		each = 1
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := new(onnxpb.ModelProto)
		if err := proto.Unmarshal(data, m); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int64{1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 62} {
			variants(m, n, func(what string) {
				if count++; count%each != 0 {
					return
				}
				data := marshal(t, m)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				begin := time.Now()
				_, err := Parse(data, Options{})
				took := time.Since(begin)
				runtime.ReadMemStats(&after)
				// All memory that was ever asked for is much more than what is held at a time.
				if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 800 || took > patience() {
					t.Errorf("%s, %s is %d: %d MB, %v: %.200v", filepath.Base(path), what, n, made, took.Round(time.Millisecond), err)
				}
			})
		}
	}
}

// A model of a few bytes that asks for much work or memory is refused by the name of the node.
func TestSmallModelsThatAskForMuch(t *testing.T) {
	chain := func(n int, op string, first ...*onnxpb.NodeProto) []*onnxpb.NodeProto {
		nodes := first
		last := first[len(first)-1].Output[0]
		for i := range n {
			out := fmt.Sprint("c", i)
			nodes = append(nodes, testNode(op, []string{last, last}, one(out)))
			last = out
		}
		return append(nodes, testNode("Add", []string{"x", last}, one("y")))
	}
	fill := func(name string) *onnxpb.NodeProto { return testNode("ConstantOfShape", one("s"), one(name)) }
	loop := func(body *onnxpb.GraphProto) *onnxpb.NodeProto {
		n := testNode("Loop", []string{"trips", "", "x"}, one("y"))
		n.Attribute = []*onnxpb.AttributeProto{{Name: "body", Type: onnxpb.AttributeProto_GRAPH, G: body}}
		return n
	}
	large := make([]float32, 1<<12)
	for name, c := range map[string]struct {
		m    *onnxpb.ModelProto
		want string
	}{
		"run": {with(testModel(13, testNode("Expand", []string{"x", "s"}, one("e")), testNode("MatMul", []string{"e", "e"}, one("p")), testNode("ReduceSum", one("p"), one("y"))),
			[]any{1, 1}, testInts("s", 8192, 8192)), `"MatMul" "n_p"`},
		"product of constants": {with(testModel(13, chain(1, "MatMul", fill("f"))...), []any{1}, testInts("s", 2048, 2048)), `"MatMul" "n_c0"`},
		"sums of constants":    {with(testModel(13, chain(30, "Add", fill("f"))...), []any{1}, testInts("s", 1<<20)), `"Add" "n_c15"`},
		"read again and again": {with(testModel(13, append(reads1000(), testNode("Add", []string{"x", "last"}, one("y")))...), []any{1}, testInts("s", 1<<23)), `"n_r8"`},
		"tables":               {with(testModel(13, resizes(4)...), []any{1, 1, 2048, 1}, testFloats("up", []int64{4}, 1, 1, 2, 1), testFloats("down", []int64{4}, 1, 1, 0.5, 1)), `"Resize"`},
		"constant of a loop": {with(testModel(13, loop(&onnxpb.GraphProto{
			Input:       []*onnxpb.ValueInfoProto{{Name: "i"}, {Name: "c"}, {Name: "v"}},
			Initializer: []*onnxpb.TensorProto{testFloats("w", []int64{1 << 12}, large...), testInts("to", 1<<10, 1<<12)},
			Node: []*onnxpb.NodeProto{testNode("Expand", []string{"w", "to"}, one("e")), testNode("ReduceSum", one("e"), one("r"), "keepdims", 0),
				testNode("Add", []string{"v", "r"}, one("w2"))},
			Output: []*onnxpb.ValueInfoProto{{Name: "c"}, {Name: "w2"}},
		})), []any{1}, testInts("trips", 4000)), `"Expand"`},
	} {
		begin := time.Now()
		_, err := Parse(marshal(t, c.m), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "of this size") && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %.300v", name, err)
		}
		if took := time.Since(begin); took > patience() {
			t.Errorf("%s: %v", name, took)
		}
	}
}

// with gives a model the shape of its input, and constants.
func with(m *onnxpb.ModelProto, shape []any, constants ...*onnxpb.TensorProto) *onnxpb.ModelProto {
	m.Graph.Input[0] = testInput("x", shape...)
	m.Graph.Initializer = constants
	return m
}

// reads1000 sums up a large constant a thousand times.
func reads1000() []*onnxpb.NodeProto {
	nodes := []*onnxpb.NodeProto{testNode("ConstantOfShape", one("s"), one("f"))}
	sum := "f"
	for i := range 1000 {
		r := fmt.Sprint("r", i)
		nodes = append(nodes, testNode("ReduceSum", one("f"), one(r)))
		if i == 0 {
			sum = r
			continue
		}
		next := fmt.Sprint("t", i)
		nodes = append(nodes, testNode("Add", []string{sum, r}, one(next)))
		sum = next
	}
	nodes[len(nodes)-1].Output[0] = "last"
	return nodes
}

// resizes makes a picture larger and smaller again, with a matrix each time.
func resizes(n int) []*onnxpb.NodeProto {
	var nodes []*onnxpb.NodeProto
	last := "x"
	for i := range n {
		big, small := fmt.Sprint("b", i), fmt.Sprint("s", i)
		nodes = append(nodes, testNode("Resize", []string{last, "", "up"}, one(big), "mode", "linear"),
			testNode("Resize", []string{big, "", "down"}, one(small), "mode", "linear"))
		last = small
	}
	return append(nodes, testNode("Relu", one(last), one("y")))
}

// patience is what a file that asks for much may take until it is refused, on a machine that
// does other work as well; with -short, as the race detector runs, more.
// internal/hostile measures processor time.
func patience() time.Duration {
	if testing.Short() {
		return 100 * time.Second
	}
	return 30 * time.Second
}
