package onnx

import (
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx/onnxpb"
	"google.golang.org/protobuf/proto"
)

// loopOf is a Loop of so many trips around a body, which adds 1 to what it carries.
func loopOf(trips int64, inner ...*onnxpb.NodeProto) *onnxpb.NodeProto {
	body := &onnxpb.GraphProto{
		Input:       []*onnxpb.ValueInfoProto{{Name: "i"}, {Name: "on"}, {Name: "v"}},
		Output:      []*onnxpb.ValueInfoProto{{Name: "on"}, {Name: "w"}},
		Initializer: []*onnxpb.TensorProto{testFloats("one", []int64{1}, 1), {Name: "trips", DataType: 7, Int64Data: []int64{trips}, Dims: []int64{1}}},
		Node:        append([]*onnxpb.NodeProto{{OpType: "Add", Input: []string{"v", "one"}, Output: []string{"w"}}}, inner...),
	}
	return &onnxpb.NodeProto{OpType: "Loop", Name: "loop", Input: []string{"trips", "", "x"}, Output: []string{"y"},
		Attribute: []*onnxpb.AttributeProto{{Name: "body", Type: onnxpb.AttributeProto_GRAPH, G: body}}}
}

func loopModel(loop *onnxpb.NodeProto, trips int64) *onnxpb.ModelProto {
	return &onnxpb.ModelProto{
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 17}},
		Graph: &onnxpb.GraphProto{
			Name: "loops", Node: []*onnxpb.NodeProto{loop},
			Initializer: []*onnxpb.TensorProto{{Name: "trips", DataType: 7, Int64Data: []int64{trips}, Dims: []int64{1}}},
			Input:       []*onnxpb.ValueInfoProto{testInput("x", 1)}, Output: []*onnxpb.ValueInfoProto{{Name: "y"}},
		},
	}
}

// TestLoopsAreBounded refuses loops that would be written out as more than a model is:
// many trips, and loops in loops.
func TestLoopsAreBounded(t *testing.T) {
	parse := func(m *onnxpb.ModelProto) error {
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Parse(data, Options{})
		if err == nil {
			err = g.Close()
		}
		return err
	}
	if err := parse(loopModel(loopOf(3), 3)); err != nil {
		t.Fatal(err)
	}
	if err := parse(loopModel(loopOf(1<<40), 1<<40)); err == nil || !strings.Contains(err.Error(), "more than 4096 trips") {
		t.Errorf("many trips: %v", err)
	}
	// Three loops of 100 trips in each other: the middle one's result is carried.
	deep := loopOf(100)
	for range 2 {
		deep.Input, deep.Output = []string{"trips", "", "w"}, []string{"u"}
		outer := loopOf(100, deep)
		outer.Attribute[0].G.Output[1].Name = "u"
		deep = outer
	}
	if err := parse(loopModel(deep, 100)); err == nil || !strings.Contains(err.Error(), "more than 16384 nodes") {
		t.Errorf("loops in loops: %v", err)
	}
}

// A loop without trips gives what it begins with; what it would have collected is empty,
// and an error only if something reads it.
func TestLoopWithoutTrips(t *testing.T) {
	parse := func(collected bool) error {
		loop := loopOf(0)
		loop.Attribute[0].G.Output = append(loop.Attribute[0].G.Output, &onnxpb.ValueInfoProto{Name: "w"})
		loop.Output = append(loop.Output, "all")
		m := loopModel(loop, 0)
		if collected {
			m.Graph.Output[0].Name = "all"
		}
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Parse(data, Options{})
		if err != nil {
			return err
		}
		defer g.Close()
		values, err := g.RunFloat([][]float64{{7}})
		if err != nil {
			t.Fatal(err)
		}
		if y := values[g.Outputs[0]]; len(y) != 1 || y[0] != 7 {
			t.Errorf("it gives %v, not 7", y)
		}
		return nil
	}
	if err := parse(false); err != nil {
		t.Error(err)
	}
	if err := parse(true); err == nil || !strings.Contains(err.Error(), "makes no trip") {
		t.Errorf("its collected output is read: %v", err)
	}
}
