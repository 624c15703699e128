package proof

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// TestPieces: a key that is decoded in pieces is what it is as a whole.
func TestPieces(t *testing.T) {
	for _, n := range []int{0, 1, 3000} {
		key := &proofpb.Key{Graph: &proofpb.Graph{Name: "large", Inputs: []uint32{0, 1}, Outputs: []uint32{2}},
			Root: []byte{1, 2, 3}, Security: &proofpb.Security{TargetBits: 100}, RowVars: 7}
		for i := range n {
			key.Graph.Tensors = append(key.Graph.Tensors, &proofpb.Tensor{Name: fmt.Sprintf("tensor %d of many", i), Shape: []uint64{uint64(i), 5}, Max: int64(i)})
			key.Graph.Tables = append(key.Graph.Tables, &proofpb.Table{Name: fmt.Sprint("table ", i)})
			key.Graph.Steps = append(key.Graph.Steps, &proofpb.Step{Name: fmt.Sprint("step ", i), Shape: []uint64{7}})
		}
		b, err := proto.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unmarshalKey(b)
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got, key) {
			t.Errorf("%d tensors: another key", n)
		}
	}
	key := &proofpb.Key{RowVars: 3}
	b, err := proto.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unmarshalKey(b); err != nil || !proto.Equal(got, key) {
		t.Error("a key without a graph:", got, err)
	}
}
