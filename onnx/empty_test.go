package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// withoutElements calls visit with m in which one array, an input or an initializer, has a
// dimension of 0, and with m in which two have.
func withoutElements(m *onnxpb.ModelProto, visit func(what string)) {
	type change struct {
		what string
		make func() (undo func())
	}
	var changes []change
	for _, in := range m.Graph.Input {
		for j, d := range in.GetType().GetTensorType().GetShape().GetDim() {
			changes = append(changes, change{fmt.Sprintf("dimension %d of %s", j, in.GetName()), func() func() {
				old := d.Value
				d.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{}
				return func() { d.Value = old }
			}})
		}
	}
	for _, t := range m.Graph.Initializer {
		for j := range t.Dims {
			changes = append(changes, change{fmt.Sprintf("dimension %d of %s", j, t.GetName()), func() func() {
				old := proto.Clone(t).(*onnxpb.TensorProto)
				t.Dims[j], t.RawData, t.FloatData, t.Int32Data, t.Int64Data, t.DoubleData, t.Uint64Data = 0, nil, nil, nil, nil, nil, nil
				return func() {
					t.Dims[j], t.RawData, t.FloatData, t.Int32Data = old.Dims[j], old.RawData, old.FloatData, old.Int32Data
					t.Int64Data, t.DoubleData, t.Uint64Data = old.Int64Data, old.DoubleData, old.Uint64Data
				}
			}})
		}
	}
	for i, c := range changes {
		undo := c.make()
		visit(c.what)
		for _, d := range changes[i+1:] {
			also := d.make()
			visit(c.what + " and " + d.what)
			also()
		}
		undo()
	}
}

// TestOperandsWithoutElements: an operator takes operands without elements, and numbers that
// are 0 or −1, or says that it does not.
func TestOperandsWithoutElements(t *testing.T) {
	files, err := filepath.Glob("testdata/operators/*.onnx")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var m onnxpb.ModelProto
		if err := proto.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".onnx")
		parse := func(what string) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: %s: %v", name, what, r)
				}
			}()
			_, _ = Parse(marshal(t, &m), Options{})
		}
		withoutElements(&m, parse)
		for _, n := range []int64{0, -1} {
			variants(&m, n, func(what string) { parse(fmt.Sprintf("%s is %d", what, n)) })
		}
	}
}
