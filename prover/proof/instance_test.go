package proof

import (
	"bytes"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// TestOtherSizes: a circuit that is valid at all sizes 1 and not at those of a header is refused for the header, whether the key
// is read for it or by itself.
func TestOtherSizes(t *testing.T) {
	k := sampleKey()
	k.Circuit = sampleGraph(1, 5, 3, -77, "sample").Template()
	k.Circuit.Free = []model.FreeDim{{Name: "n", Bound: 4}}
	k.Circuit.Graph.Tensors[0].Scales = []model.Scale{1, 0} // of the input, which steps then read in another shape than their own
	file, err := EncodeKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 3, 5} {
		h := sampleHeader()
		h.Key, h.Sizes, h.ChunkEntries, h.Hash, h.Trees = k.Digest, []int{size}, 0, k.Security.Hash, nil
		alone, err := DecodeKey(file)
		if err != nil {
			t.Fatal(err)
		}
		together, err := ReadKeyFor(bytes.NewReader(file), MaxKeySize, &h)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []*Key{alone, together} {
			if _, err := key.GraphOf(&h); (err == nil) != (size == 1) {
				t.Errorf("size %d: %v", size, err)
			}
		}
	}
}
