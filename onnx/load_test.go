package onnx

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// TestNoOperatorSet: files of the first two versions of the format name no operator set, and
// mean the first one; later ones do.
func TestNoOperatorSet(t *testing.T) {
	for version, ok := range map[int64]bool{0: false, 1: true, 2: true, 3: false} {
		m := testModel(1, testNode("Relu", one("x"), one("y"), "consumed_inputs", []int64{0}))
		m.OpsetImport, m.IrVersion = nil, version
		if _, err := Parse(marshal(t, m), Options{}); (err == nil) != ok {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

// TestRefused holds models that Load must refuse, and what the error must say.
func TestRefused(t *testing.T) {
	relu := func() *onnxpb.NodeProto { return testNode("Relu", one("x"), one("y")) }
	with := func(change func(m *onnxpb.ModelProto), nodes ...*onnxpb.NodeProto) *onnxpb.ModelProto {
		if len(nodes) == 0 {
			nodes = []*onnxpb.NodeProto{relu()}
		}
		m := testModel(13, nodes...)
		change(m)
		return m
	}
	initializer := func(ts ...*onnxpb.TensorProto) func(m *onnxpb.ModelProto) {
		return func(m *onnxpb.ModelProto) { m.Graph.Initializer = ts }
	}
	add := testNode("Add", []string{"x", "w"}, one("y"))
	mul := testNode("Mul", []string{"x", "w"}, one("y"))
	nan := float32(math.NaN())
	for _, c := range []struct {
		name  string
		model *onnxpb.ModelProto
		want  []string
	}{
		{"no graph", &onnxpb.ModelProto{}, []string{"no graph"}},
		{"no operator set", with(func(m *onnxpb.ModelProto) { m.OpsetImport = nil }), []string{"operator set"}},
		{"old operator set", testModel(0, relu()), []string{"operator set"}},
		{"new operator set", testModel(99, relu()), []string{"operator set 99"}},
		{"no output", with(func(m *onnxpb.ModelProto) { m.Graph.Output = nil }), []string{"no outputs"}},
		{"undefined output", with(func(m *onnxpb.ModelProto) { m.Graph.Output[0].Name = "q" }), []string{`"q"`}},
		{"undefined input", testModel(13, testNode("Relu", one("q"), one("y"))), []string{"n_y", `"q"`}},
		{"value defined twice", testModel(13, relu(), relu()), []string{`"y" is defined twice`}},
		{"value named as input", testModel(13, testNode("Relu", one("x"), one("x")), relu()), []string{`"x" is defined twice`}},
		{"two inputs of one name", with(func(m *onnxpb.ModelProto) {
			m.Graph.Input = append(m.Graph.Input, m.Graph.Input[0])
		}), []string{"two inputs"}},
		{"two initializers of one name", with(initializer(testInts("w", 1), testInts("w", 1))), []string{"two initializers"}},
		{"cycle", testModel(13, testNode("Add", []string{"x", "b"}, one("a")), testNode("Relu", one("a"), one("b")),
			testNode("Relu", one("b"), one("y"))), []string{"cycle", "3 nodes"}},
		{"sparse initializer", with(func(m *onnxpb.ModelProto) {
			m.Graph.SparseInitializer = []*onnxpb.SparseTensorProto{{}}
		}), []string{"sparse"}},
		{"input of no type", with(func(m *onnxpb.ModelProto) { m.Graph.Input[0].Type = nil }), []string{`"x"`, "not a tensor"}},
		{"string input", with(func(m *onnxpb.ModelProto) {
			m.Graph.Input[0].Type.GetTensorType().ElemType = 8
		}), []string{"Relu", "takes strings"}},
		{"huge input", with(func(m *onnxpb.ModelProto) { m.Graph.Input[0] = testInput("x", 1<<20, 1<<20) }), []string{`"x"`, "large"}},
		{"overflowing input", with(func(m *onnxpb.ModelProto) { m.Graph.Input[0] = testInput("x", 1<<32, 1<<32) }), []string{`"x"`, "large"}},
		{"all unsupported nodes", testModel(13,
			testNode("Optional", one("x"), one("a")), testNode("Relu", one("a"), one("b")), testNode("SequenceMap", one("b"), one("c")),
			testNode("Pad", []string{"x"}, one("d"), "pads", []int64{1}), testNode("Sum", []string{"c", "d"}, one("y"))),
			[]string{"3 nodes", "Optional", "n_a", "SequenceMap", "n_c", "Pad", "n_d"}},
		{"unsupported before dimensions", with(func(m *onnxpb.ModelProto) {
			m.Graph.Input[0] = testInput("x", 1, "n")
		}, testNode("SequenceMap", one("x"), one("y"))), []string{"SequenceMap"}},
		{"other domain", with(func(m *onnxpb.ModelProto) { m.Graph.Node[0].Domain = "com.example" }), []string{"com.example.Relu", "domain"}},
		{"function of the model", with(func(m *onnxpb.ModelProto) {
			m.Graph.Node[0].Domain = "local"
			m.Functions = []*onnxpb.FunctionProto{{Domain: "local", Name: "Relu"}}
		}), []string{"function"}},
		{"subgraph", testModel(13, testNode("If", one("x"), one("y"), "then_branch", onnxpb.AttributeProto_GRAPH)), []string{"If"}},
		{"attribute not understood", testModel(13, testNode("Relu", one("x"), one("y"), "slope", 1)), []string{`"slope"`}},
		{"attribute of another type", testModel(13, testNode("Softmax", one("x"), one("y"), "axis", 1.0)), []string{"axis", "FLOAT"}},
		{"axis out of range", testModel(13, testNode("Softmax", one("x"), one("y"), "axis", 2)), []string{"axis 2"}},
		{"integers on a computed scale", testModel(13, testNode("QuantizeLinear", []string{"x", "x"}, one("y"))), []string{"n_y", "the scale must be constant"}},
		{"power of integers", with(func(m *onnxpb.ModelProto) { m.Graph.Input[0].Type.GetTensorType().ElemType = 7 },
			testNode("Pow", []string{"x", "x"}, one("y"))), []string{"n_y", "exponent"}},
		{"statistics of another shape", with(func(m *onnxpb.ModelProto) {
			m.OpsetImport[0].Version = 6
			for _, name := range []string{"s", "b", "m", "v"} {
				m.Graph.Initializer = append(m.Graph.Initializer, testFloats(name, []int64{2}, 1, 1))
			}
		}, testNode("BatchNormalization", []string{"x", "s", "b", "m", "v"}, one("y"), "spatial", 0)), []string{"n_y", "[2]"}},
		{"missing input", testModel(13, testNode("Add", []string{"x", ""}, one("y"))), []string{"input 1 is missing"}},
		{"too many inputs", testModel(13, testNode("Relu", []string{"x", "x"}, one("y"))), []string{"2 inputs"}},
		{"second output wanted", with(func(m *onnxpb.ModelProto) { m.Graph.Output[0].Name = "i" },
			testNode("Relu", one("x"), []string{"y", "i"})), []string{`"i"`}},
		{"computed shape", testModel(13, testNode("Cast", one("x"), one("s"), "to", 7), testNode("Reshape", []string{"x", "s"}, one("y"))),
			[]string{"must be constant"}},
		{"shapes that do not broadcast", with(initializer(testFloats("w", []int64{2}, 1, 2)), add), []string{"n_y", "broadcast"}},
		{"NaN in a weight", with(initializer(testFloats("w", []int64{3}, 1, nan, 2)), mul), []string{`"w"`, "NaN or infinite"}},
		{"infinite weight", with(initializer(testFloats("w", []int64{1}, float32(math.Inf(1)))), mul), []string{`"w"`, "NaN or infinite"}},
		{"infinite after folding", with(initializer(testFloats("w", []int64{1}, 0)),
			testNode("Reciprocal", one("w"), one("v")), testNode("Mul", []string{"x", "v"}, one("y"))), []string{"n_v", "NaN or infinite"}},
		{"division by a constant zero", with(initializer(testFloats("w", []int64{1}, 0)), testNode("Div", []string{"x", "w"}, one("y"))), []string{"n_y", "infinite"}},
		{"integer division by zero", with(initializer(testInts("w", 0)), testNode("Div", []string{"w", "w"}, one("v")),
			testNode("Reshape", []string{"x", "v"}, one("y"))), []string{"n_v", "division by zero"}},
		{"negative dimension", with(initializer(testFloats("w", []int64{-1}, 1)), add), []string{`"w"`, "negative"}},
		{"dimensions that overflow", with(initializer(testFloats("w", []int64{1 << 33, 1 << 33}, 1)), add), []string{`"w"`, "large"}},
		{"zero hides an overflow", with(initializer(testFloats("w", []int64{1 << 33, 1 << 33, 0})), add), []string{`"w"`, "large"}},
		{"too little data", with(initializer(testFloats("w", []int64{1 << 30}, 1)), add), []string{`"w"`, "4 bytes"}},
		{"many axes", with(initializer(testFloats("w", make([]int64, 100))), add), []string{`"w"`, "axes"}},
		{"huge constant", with(initializer(testInts("s", 1<<15, 1<<15)), testNode("ConstantOfShape", one("s"), one("v")),
			testNode("Add", []string{"x", "v"}, one("y"))), []string{"n_v", "too large"}},
		{"huge range", with(initializer(testInts("z", 0), testInts("n", 1<<40), testInts("d", 1)), testNode("Range", []string{"z", "n", "d"}, one("v")),
			testNode("Add", []string{"x", "v"}, one("y"))), []string{"n_v", "range"}},
		{"huge activation", with(initializer(testInts("r", 1<<20, 1<<20)), testNode("Tile", []string{"x", "r"}, one("y"))), []string{"n_y", "large"}},
		{"kernel larger than its input", with(func(m *onnxpb.ModelProto) { m.Graph.Input[0] = testInput("x", 1, 1, 3) },
			testNode("MaxPool", one("x"), one("y"), "kernel_shape", []int64{4})), []string{"n_y", "larger"}},
		{"window of padding", with(func(m *onnxpb.ModelProto) { m.Graph.Input[0] = testInput("x", 1, 1, 3) },
			testNode("MaxPool", one("x"), one("y"), "kernel_shape", []int64{2}, "pads", []int64{2, 0})), []string{"n_y", "all padding"}},
		{"external data in memory", with(initializer(&onnxpb.TensorProto{Name: "w", Dims: []int64{1}, DataType: 1,
			DataLocation: onnxpb.TensorProto_EXTERNAL}), add), []string{`"w"`, "external"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(marshal(t, c.model), Options{})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error does not mention %q: %v", w, err)
				}
			}
		})
	}
}

// TestPointer: what stands for a file in a Git repository is told from a damaged one.
func TestPointer(t *testing.T) {
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
	if _, err := Parse([]byte(pointer), Options{}); err == nil || !strings.Contains(err.Error(), "Git LFS") {
		t.Errorf("got %v", err)
	}
}

// TestReasonsAreGrouped: nodes with one reason share a line.
func TestReasonsAreGrouped(t *testing.T) {
	var nodes []*onnxpb.NodeProto
	in := "x"
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		nodes = append(nodes, testNode("SequenceMap", one(in), one(name)))
	}
	nodes = append(nodes, testNode("Optional", one("x"), one("g")), testNode("Sum", []string{"a", "b", "c", "d", "e", "f", "g"}, one("y")))
	_, err := Parse(marshal(t, testModel(13, nodes...)), Options{})
	for _, want := range []string{"7 nodes", `"SequenceMap", 6 nodes: the operator is not supported ("n_a", "n_b", "n_c", "n_d" and 2 others)`, `"Optional" "n_g"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

// TestNodesError checks that callers can get at the nodes.
func TestNodesError(t *testing.T) {
	m := testModel(13, testNode("SequenceMap", one("x"), one("a")), testNode("Optional", one("a"), one("y")))
	_, err := Parse(marshal(t, m), Options{})
	var nodes graph.NodesError
	if !errors.As(err, &nodes) || len(nodes) != 2 || nodes[1].Op != "Optional" || nodes[1].Name != "n_y" {
		t.Errorf("got %#v", err)
	}
}

// TestDeadNodesDoNotMatter: what no output needs is not looked at.
func TestDeadNodesDoNotMatter(t *testing.T) {
	m := testModel(13, testNode("SequenceMap", one("x"), one("a")), testNode("Relu", one("x"), one("y")))
	m.Graph.Initializer = []*onnxpb.TensorProto{testFloats("w", []int64{1}, float32(math.NaN()))}
	g, err := Parse(marshal(t, m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Nodes) != 1 || len(g.Consts) != 0 {
		t.Errorf("%d nodes, %d constants", len(g.Nodes), len(g.Consts))
	}
}

// TestNodesInAnyOrder: the file's order need not be topological.
func TestNodesInAnyOrder(t *testing.T) {
	m := testModel(13, testNode("Neg", one("b"), one("y")), testNode("Exp", one("a"), one("b")), testNode("Relu", one("x"), one("a")))
	g, err := Parse(marshal(t, m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkNormal(t, g)
}

// TestInitializerIsNoInput: before IR version 4 initializers are inputs too.
func TestInitializerIsNoInput(t *testing.T) {
	m := testModel(9, testNode("Add", []string{"x", "w"}, one("y")))
	m.Graph.Input = append(m.Graph.Input, testInput("w", 3))
	m.Graph.Initializer = []*onnxpb.TensorProto{testFloats("w", []int64{3}, 1, 2, 3)}
	g, err := Parse(marshal(t, m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Inputs) != 1 || g.Consts["w"] == nil {
		t.Errorf("inputs %v, constants %v", g.Inputs, g.Consts)
	}
}

// TestTruncated: no prefix of a model may do more than fail.
func TestTruncated(t *testing.T) {
	data, err := os.ReadFile("testdata/operators/batchnorm_after_conv.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := Parse(data[:n], Options{}); err == nil {
			t.Errorf("accepted when cut to %d of %d bytes", n, len(data))
		}
	}
	if _, err := Parse(bytes.Repeat([]byte{0xff}, 100), Options{}); err == nil {
		t.Error("accepted bytes that are no model")
	}
}

// TestDeepNesting: no message type of the format that is read contains itself,
// so what can nest is unknown fields, and the parser must not follow them to
// the end of the stack.
func TestDeepNesting(t *testing.T) {
	const depth = 1 << 20
	data := marshal(t, testModel(13, testNode("Relu", one("x"), one("y"))))
	if _, err := Parse(data, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []protowire.Type{protowire.StartGroupType, protowire.EndGroupType} {
		for range depth {
			data = protowire.AppendTag(data, 99, kind)
		}
	}
	if _, err := Parse(data, Options{}); err == nil {
		t.Error("accepted")
	}
}

func TestExternalData(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	weights := testFloats("", nil, 9, 9, 1, 2, 3, 4).RawData
	write("weights.bin", weights)
	write("m/sub/weights.bin", weights)
	// Large enough to be mapped, with the weights at the end.
	large := append(make([]byte, 1<<20), weights...)
	write("m/large.bin", large)
	write("m/odd.bin", append([]byte{0}, large...))
	if err := os.Symlink(filepath.Join("..", "weights.bin"), filepath.Join(dir, "m", "link.bin")); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name    string
		entries []string
		want    string // in the error; empty for success
	}{
		{"whole", []string{"location", "sub/weights.bin", "offset", "8", "length", "12"}, ""},
		{"no length", []string{"location", "sub/weights.bin", "offset", "12"}, ""},
		{"mapped", []string{"location", "large.bin", "offset", "1048584", "length", "12"}, ""},
		{"mapped, not aligned", []string{"location", "odd.bin", "offset", "1048585", "length", "12"}, ""},
		{"no location", []string{"offset", "0"}, "location"},
		{"absolute", []string{"location", filepath.Join(dir, "weights.bin")}, "leaves"},
		{"parent", []string{"location", "../weights.bin"}, "leaves"},
		{"link out of the folder", []string{"location", "link.bin", "offset", "8", "length", "12"}, "link.bin"},
		{"missing file", []string{"location", "none.bin"}, "none.bin"},
		{"a folder", []string{"location", "sub"}, "regular"},
		{"offset beyond", []string{"location", "sub/weights.bin", "offset", "25"}, "offset 25"},
		{"negative offset", []string{"location", "sub/weights.bin", "offset", "-4"}, "offset -4"},
		{"offset no number", []string{"location", "sub/weights.bin", "offset", "x"}, "number"},
		{"length beyond", []string{"location", "sub/weights.bin", "offset", "16", "length", "12"}, "12 bytes at 16"},
		{"length that overflows", []string{"location", "sub/weights.bin", "offset", "1", "length", "9223372036854775807"}, "bytes at 1"},
		{"wrong length", []string{"location", "sub/weights.bin", "offset", "8", "length", "8"}, "needs 12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &onnxpb.TensorProto{Name: "w", Dims: []int64{3}, DataType: int32(graph.Float), DataLocation: onnxpb.TensorProto_EXTERNAL}
			for i := 0; i < len(c.entries); i += 2 {
				w.ExternalData = append(w.ExternalData, &onnxpb.StringStringEntryProto{Key: c.entries[i], Value: c.entries[i+1]})
			}
			m := testModel(13, testNode("Add", []string{"x", "w"}, one("y")))
			m.Graph.Initializer = []*onnxpb.TensorProto{w}
			path := filepath.Join(dir, "m", "model.onnx")
			if err := os.WriteFile(path, marshal(t, m), 0o644); err != nil {
				t.Fatal(err)
			}
			g, err := Load(path, Options{})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got error %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v := g.Consts["w"]; v.Shape[0] != 3 {
				t.Errorf("shape %v", v.Shape)
			}
			if c.name != "no length" && g.Consts["w"].F32[0] != 1 {
				t.Errorf("got %v", g.Consts["w"].F32)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLoadFiles(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"missing.onnx": "missing.onnx", "": "regular"} {
		if _, err := Load(filepath.Join(dir, name), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}
