package proof

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// encodeFrame returns the frame with a stream as the general encoder takes it.
func encodeFrame(f plan.Frame, body []byte) *proofpb.Frame {
	switch f.Kind {
	case plan.Commitments:
		return &proofpb.Frame{Body: &proofpb.Frame_Commitments{Commitments: body}}
	case plan.Chunk:
		c := &proofpb.Chunk{Index: uint32(f.Index), Body: body}
		return &proofpb.Frame{Body: &proofpb.Frame_Chunk{Chunk: c}}
	case plan.IO:
		return &proofpb.Frame{Body: &proofpb.Frame_Io{Io: body}}
	default:
		return &proofpb.Frame{Body: &proofpb.Frame_Opening{Opening: body}}
	}
}

// TestFrameHead compares frames as they are written with those of the general encoder, and what is
// hashed with the whole, for streams short and long.
func TestFrameHead(t *testing.T) {
	for _, n := range []int{0, 1, 31, 100, 126, 127, 128, 1 << 14, 3 << 19} {
		for _, f := range []plan.Frame{{Kind: plan.Commitments}, {Kind: plan.Chunk}, {Kind: plan.Chunk, Index: 7}, {Kind: plan.Chunk, Index: 200}, {Kind: plan.IO}, {Kind: plan.Opening}} {
			body := make([]byte, n)
			for i := range body {
				body[i] = byte(i + i>>8)
			}
			var want bytes.Buffer
			if _, err := protodelim.MarshalTo(&want, encodeFrame(f, body)); err != nil {
				t.Fatal(err)
			}
			if got := append(frameHead(f, n), body...); !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("%v of %d bytes differs", f, n)
			}
			var file bytes.Buffer
			s := sink{buf: bufio.NewWriter(&file), sum: sha256.New()}
			for _, b := range [][]byte{frameHead(f, n), body} {
				if _, err := s.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.buf.Flush(); err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(want.Bytes()); !bytes.Equal(file.Bytes(), want.Bytes()) || !bytes.Equal(s.sum.Sum(nil), sum[:]) || s.size != int64(want.Len()) {
				t.Fatalf("%v of %d bytes is written as something else", f, n)
			}
		}
	}
}

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
