package onnx

import (
	"os"
	"path/filepath"
	same "reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// TestStringsRead: files of strings become strings for an input that takes them, and an error for one that takes numbers; what
// stands for numbers is either.
func TestStringsRead(t *testing.T) {
	wide := "a\x00\x00\x00\xe4\x00\x00\x00b\x00\x00\x00\x00\x00\x00\x00" // "aä", "b"
	for _, c := range []struct {
		file, data string
		want       []string
		numbers    []float64 // for an input of numbers; nil if they are refused
		why        string
	}{
		{"a.json", `["red", "blue"]`, []string{"red", "blue"}, nil, `holds "red" where numbers are expected`},
		{"a.json", `{"x": ["Inf"]}`, []string{"Inf"}, nil, `holds "Inf" where`},
		{"a.json", `["NaN", "-Infinity"]`, []string{"NaN", "-Infinity"}, []float64{0, 0}, ""},
		{"a.csv", "x\n1\n2\n", []string{"1", "2"}, []float64{1, 2}, ""},
		{"a.csv", "x\n3\nred\n", []string{"3", "red"}, nil, `line 3, column "x": "red" is not a number`},
		{"a.csv", "x\n3\n\"\"\n", []string{"3", ""}, nil, `line 3, column "x": is empty`},
		{"a.tsv", "x\ty\n\tred\n1\t\n", []string{"", "1"}, nil, `line 2, column "x": is empty`},
		{"a.tsv", "y\tx\tz\n1\t\t3\n 2\tb\t 4\n", []string{"", "b"}, nil, `line 2, column "x": is empty`},
		{"a.csv", "x\nnan\n", []string{"nan"}, nil, "missing values"},
		{"a.csv", "x;y\nno;1\n", []string{"no"}, nil, `"no" is not a number`},
		{"a.npy", string(npy("<U2", false, "(2,)", []byte(wide))), []string{"aä", "b"}, nil, "where numbers"},
		{"a.npy", string(npy("|S3", false, "(2,)", []byte("abc\x00\x00\x00"))), []string{"abc", ""}, nil, "where numbers"},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(c.data), 0o644); err != nil {
			t.Fatal(err)
		}
		in, err := ReadInputs(path)
		if err != nil {
			t.Errorf("%q: %v", c.data, err)
			continue
		}
		got, err := refusal(in.assign, []graph.Input{{Name: "x", Shape: []int{0}, DType: stringType}})
		if err != nil || len(got) != 1 || !slices.Equal(got[0].Strings, c.want) || got[0].Values != nil {
			t.Errorf("%q: strings %+v, %v", c.data, got, err)
		}
		got, err = refusal(in.assign, []graph.Input{{Name: "x", Shape: []int{0}, DType: graph.Float}})
		if c.numbers == nil {
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%q: numbers %+v, %v; want %q", c.data, got, err, c.why)
			}
		} else if err != nil || len(got[0].Values) != len(c.numbers) || got[0].Strings != nil {
			t.Errorf("%q: numbers %+v, %v", c.data, got, err)
		}
	}
}

// domainNode is testNode for another domain.
func domainNode(domain, op string, in, out []string, attrs ...any) *onnxpb.NodeProto {
	n := testNode(op, in, out, attrs...)
	n.Domain = domain
	return n
}

func testStrings(name string, list ...string) *onnxpb.TensorProto {
	t := &onnxpb.TensorProto{Name: name, Dims: []int64{int64(len(list))}, DataType: int32(stringType)}
	for _, s := range list {
		t.StringData = append(t.StringData, []byte(s))
	}
	return t
}

// marshalStrings is a model whose input x is strings.
func marshalStrings(t *testing.T, constant *onnxpb.TensorProto, nodes ...*onnxpb.NodeProto) []byte {
	m := testModel(20, nodes...)
	m.Graph.Input[0] = testInput("x", 2)
	m.Graph.Input[0].Type.GetTensorType().ElemType = int32(stringType)
	if constant != nil {
		m.Graph.Initializer = append(m.Graph.Initializer, constant)
	}
	return marshal(t, m)
}

// TestStringsRefused: what strings cannot be used for is an error that names the node.
func TestStringsRefused(t *testing.T) {
	names := testStrings("names", "a", "b")
	for name, c := range map[string]struct {
		m   []byte
		why string
	}{
		"strings alone":      {marshalStrings(t, nil, testNode("StringConcat", []string{"x", "x"}, one("y"))), "nothing to prove"},
		"numbers of strings": {marshalStrings(t, nil, testNode("Relu", one("x"), one("y"))), "takes strings, which is not supported"},
		"length of strings":  {marshalStrings(t, nil, testNode("StringSplit", one("x"), []string{"s", "n"}), domainNode("ai.onnx.ml", "OneHotEncoder", one("s"), one("y"), "cats_strings", []string{"a"})), "depends on the strings"},
		"a label's number": {marshalStrings(t, names, domainNode("ai.onnx.ml", "LabelEncoder", one("x"), one("i"), "keys_strings", []string{"a"}, "values_int64s", []int64{1}),
			testNode("Gather", []string{"names", "i"}, one("l")), testNode("Neg", one("l"), one("y"))), "are labels"},
	} {
		if _, err := Parse(c.m, Options{}); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, which does not say %q", name, err, c.why)
		}
	}
}

// TestVocabularyOfLabels: classes with names are in the vocabulary, and its digest does not depend on the size of the batch.
func TestVocabularyOfLabels(t *testing.T) {
	g, err := Load("testdata/strings/labels.onnx", Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := g.Vocabulary
	if v == nil || v.Takes() || len(v.Outputs) != 2 || !slices.Equal(v.Outputs[0].Labels, []string{"high", "low", "middle"}) || !slices.Equal(v.Outputs[1].Columns, v.Outputs[0].Labels) {
		t.Fatalf("%+v", v)
	}
	g, err = Load("testdata/strings/columns.onnx", Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := g.Rebind(map[string]int{"price[0]": 7, "colour[0]": 7, "size[0]": 7})
	if err != nil {
		t.Fatal(err)
	}
	if !same.DeepEqual(again.Vocabulary, g.Vocabulary) {
		t.Errorf("%+v for seven rows, and %+v for one", again.Vocabulary, g.Vocabulary)
	}
}
