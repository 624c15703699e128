package proof

import (
	"reflect"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// A circuit that somebody has been given stays as it is when another instance is asked
// for; the one that a key was checked with gives its memory to the first.
func TestInstancesKeepApart(t *testing.T) {
	file := encode(t, sampleKey())
	unit := sampleKey().Circuit.Unit()
	other := unit
	other.ChunkEntries = 1
	for _, order := range [][]model.Instance{{other, unit, other}, {unit, other, unit}} {
		k, err := DecodeKey(file)
		if err != nil {
			t.Fatal(err)
		}
		given := make([]*model.Graph, len(order))
		for i, in := range order {
			if given[i], err = k.at(in); err != nil {
				t.Fatal(err)
			}
		}
		for i, in := range order {
			want, err := k.Circuit.At(in)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(given[i], want) {
				t.Errorf("instance %d of %v is another circuit", i, order)
			}
		}
	}
}
