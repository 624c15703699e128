//go:build unix

package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// Whatever stands where a model has its file, or its tensors, or an input: what is not a file
// is refused, and nobody waits for who writes to a pipe.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pipe", "model.onnx", "input.json", "input.csv", "input.npz"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "a pipe") && !strings.Contains(err.Error(), "a folder") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := Load(filepath.Join(dir, "model.onnx"), Options{})
	refused("a model", err)
	_, err = Load(dir, Options{})
	refused("a folder", err)
	for _, name := range []string{"input.json", "input.csv", "input.npz"} {
		_, err = ReadInputs(filepath.Join(dir, name))
		refused(name, err)
	}
	for _, location := range []string{"pipe", "."} {
		m := testModel(13, testNode("Add", []string{"x", "w"}, one("y")))
		m.Graph.Initializer = []*onnxpb.TensorProto{{
			Name: "w", Dims: []int64{1}, DataType: 1, DataLocation: onnxpb.TensorProto_EXTERNAL,
			ExternalData: []*onnxpb.StringStringEntryProto{{Key: "location", Value: location}},
		}}
		path := filepath.Join(dir, "external.onnx")
		if err := os.WriteFile(path, marshal(t, m), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Load(path, Options{})
		refused("external data", err)
	}
}
