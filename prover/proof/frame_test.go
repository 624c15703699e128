package proof

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/prover/plan"
)

// TestDecodeStream compares with the general decoder, on encodings and on altered ones.
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
