package proof

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// frameOf returns the frame with a stream as a whole.
func frameOf(f plan.Frame, body []byte) *frame {
	switch f.Kind {
	case plan.Commitments:
		return &frame{commitments: body}
	case plan.Chunk:
		return &frame{chunk: &chunk{index: f.Index, body: body}}
	case plan.IO:
		return &frame{io: body}
	default:
		return &frame{opening: body}
	}
}

// TestFrameHead compares frames as they are written with those that are encoded as a whole, and what is
// hashed with the whole, for streams short and long.
func TestFrameHead(t *testing.T) {
	for _, n := range []int{0, 1, 31, 100, 126, 127, 128, 1 << 14, 3 << 19} {
		for _, f := range []plan.Frame{{Kind: plan.Commitments}, {Kind: plan.Chunk}, {Kind: plan.Chunk, Index: 7}, {Kind: plan.Chunk, Index: 200}, {Kind: plan.IO}, {Kind: plan.Opening}} {
			body := make([]byte, n)
			for i := range body {
				body[i] = byte(i + i>>8)
			}
			whole := frameMessage.Append(nil, frameOf(f, body))
			want := append(binary.AppendUvarint(nil, uint64(len(whole))), whole...)
			if got := append(frameHead(f, n), body...); !bytes.Equal(got, want) {
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
			if sum := sha256.Sum256(want); !bytes.Equal(file.Bytes(), want) || !bytes.Equal(s.sum.Sum(nil), sum[:]) || s.size != int64(len(want)) {
				t.Fatalf("%v of %d bytes is written as something else", f, n)
			}
		}
	}
}
