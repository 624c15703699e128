package proof

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// TestDecodePublic compares with the general decoder, on encodings and on altered ones.
func TestDecodePublic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	some := func() []*proofpb.Values {
		var list []*proofpb.Values
		for range rng.IntN(3) {
			v := &proofpb.Values{}
			for range rng.IntN(20) {
				v.Values = append(v.Values, []int32{0, -1, 1, 63, 64, -65, 8191, math.MaxInt32, math.MinInt32, rng.Int32()}[rng.IntN(10)])
			}
			list = append(list, v)
		}
		return list
	}
	read := 0
	for range 3000 {
		b, err := proto.Marshal(&proofpb.Frame{Body: &proofpb.Frame_Public{Public: &proofpb.Public{Inputs: some(), Outputs: some()}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := decodePublic(b, 6); !ok {
			t.Fatalf("%x is not read", b)
		}
		for range 20 {
			messages := 2 + rng.IntN(5)
			r := &Reader{limits: Limits{Tensors: messages - 2}}
			f, err := r.decode("test", b)
			got, ok := decodePublic(b, messages)
			switch {
			case ok && err != nil:
				t.Fatalf("%x is read, but %v", b, err)
			case ok:
				read++
				want := public{decodeValues(f.GetPublic().Inputs), decodeValues(f.GetPublic().Outputs)}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%x: %v, want %v", b, got, want)
				}
			case err == nil && f.GetPublic() != nil:
				t.Fatalf("%x is not read, and is a frame of public values", b)
			}
			switch i := rng.IntN(len(b)); rng.IntN(3) {
			case 0:
				b[i] ^= 1 << rng.IntN(8)
			case 1:
				b = append(b[:i:i], b[i+1:]...)
			default:
				b = append(append(b[:i:i], byte(rng.IntN(256))), b[i:]...)
			}
			if len(b) == 0 {
				break
			}
		}
	}
	if read < 1000 {
		t.Errorf("%d frames compared", read)
	}
}
