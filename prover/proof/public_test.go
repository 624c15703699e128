package proof

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/prover/plan"
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

// TestDecodeStream is TestDecodePublic for frames with a stream.
func TestDecodeStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	read := 0
	for range 3000 {
		body := make([]byte, rng.IntN(20))
		for i := range body {
			body[i] = byte(rng.IntN(4))
		}
		frame := plan.Frame{Kind: []plan.FrameKind{plan.Commitments, plan.Chunk, plan.IO, plan.Opening}[rng.IntN(4)]}
		if frame.Kind == plan.Chunk {
			frame.Index = rng.IntN(3) * 200
		}
		b, err := proto.Marshal(encodeFrame(frame, body))
		if err != nil {
			t.Fatal(err)
		}
		if got, same, ok := decodeStream(b); !ok || got != frame || !bytes.Equal(same, body) {
			t.Fatalf("%x is read as %v", b, got)
		}
		for range 20 {
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
			r := &Reader{limits: Limits{}}
			f, err := r.decode("test", b)
			got, body, ok := decodeStream(b)
			if !ok {
				continue // the general decoder says what it is
			}
			if read++; err != nil {
				t.Fatalf("%x is read, but %v", b, err)
			}
			if want, same, err := decodeFrame(f); err != nil || got != want || !bytes.Equal(body, same) {
				t.Fatalf("%x: %v, want %v (%v)", b, got, want, err)
			}
		}
	}
	if read < 1000 {
		t.Errorf("%d frames compared", read)
	}
}
