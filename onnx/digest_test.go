package onnx

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// Digests are those that any tool gives for the files, in an order that does
// not depend on that of the tensors.
func TestDigests(t *testing.T) {
	dir := t.TempDir()
	files := map[string][]byte{}
	write := func(name string, data []byte) {
		files[name] = data
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	external := func(name, file string) *onnxpb.TensorProto {
		w := testFloats(name, []int64{3})
		w.RawData, w.FloatData, w.DataLocation = nil, nil, onnxpb.TensorProto_EXTERNAL
		w.ExternalData = []*onnxpb.StringStringEntryProto{{Key: "location", Value: file}}
		return w
	}
	m := testModel(13, testNode("Add", []string{"x", "v"}, one("a")), testNode("Add", []string{"a", "w"}, one("y")))
	m.Graph.Initializer = []*onnxpb.TensorProto{external("v", "z.bin"), external("w", "b.bin")}
	write("z.bin", testFloats("", nil, 1, 2, 3).RawData)
	write("b.bin", testFloats("", nil, 4, 5, 6).RawData)
	write("m.onnx", marshal(t, m))
	g, err := Load(filepath.Join(dir, "m.onnx"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	got := g.Digests()
	if len(got) != 3 {
		t.Fatalf("%d files", len(got))
	}
	for i, name := range []string{"m.onnx", "b.bin", "z.bin"} {
		if got[i] != sha256.Sum256(files[name]) {
			t.Errorf("digest %d is not that of %s", i, name)
		}
	}
	if g, err = Parse(marshal(t, testModel(13, testNode("Relu", one("x"), one("y")))), Options{}); err != nil || len(g.Digests()) != 0 {
		t.Errorf("a graph from memory: %v", err)
	}
}
