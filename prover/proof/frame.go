package proof

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

const (
	// ProofMagic starts every proof file.
	ProofMagic = "PM.prf\r\n"
	// ProofVersion is the version of the proof format.
	ProofVersion = 3
	// The reader takes large frames past its buffer.
	writeBuffer = 1 << 20
	readBuffer  = 1 << 13
)

// frameHead returns what comes before the n bytes of a stream in the file: the frame's length, and
// the tags and lengths of what the stream is in.
func frameHead(f plan.Frame, n int) []byte {
	if f.Kind == plan.Chunk {
		var own []byte
		if f.Index > 0 {
			own = protowire.AppendVarint([]byte{tagIndex}, uint64(f.Index))
		}
		if n > 0 {
			own = protowire.AppendVarint(append(own, tagBody), uint64(n))
		}
		return append(fieldHead(tagChunk, len(own)+n), own...)
	}
	return fieldHead(map[plan.FrameKind]byte{plan.Commitments: tagCommitments, plan.IO: tagIO, plan.Opening: tagOpening}[f.Kind], n)
}

// fieldHead returns what comes before n bytes that are the only field of a frame.
func fieldHead(tag byte, n int) []byte {
	head := protowire.AppendVarint(nil, uint64(1+protowire.SizeVarint(uint64(n))+n))
	return protowire.AppendVarint(append(head, tag), uint64(n))
}

func decodeFrame(f *proofpb.Frame) (frame plan.Frame, body []byte, err error) {
	switch b := f.Body.(type) {
	case *proofpb.Frame_Commitments:
		return plan.Frame{Kind: plan.Commitments}, b.Commitments, nil
	case *proofpb.Frame_Chunk:
		return plan.Frame{Kind: plan.Chunk, Index: int(b.Chunk.Index)}, b.Chunk.Body, nil
	case *proofpb.Frame_Io:
		return plan.Frame{Kind: plan.IO}, b.Io, nil
	case *proofpb.Frame_Opening:
		return plan.Frame{Kind: plan.Opening}, b.Opening, nil
	case *proofpb.Frame_End:
		return frame, nil, errors.New("the proof ends too soon")
	}
	return frame, nil, fmt.Errorf("frame of the wrong kind %T", f.Body)
}

// Tags of streams in a frame, and of what a chunk's has.
const (
	tagCommitments = 3<<3 | byte(protowire.BytesType)
	tagChunk       = 4<<3 | byte(protowire.BytesType)
	tagIO          = 5<<3 | byte(protowire.BytesType)
	tagOpening     = 6<<3 | byte(protowire.BytesType)
	tagIndex       = 1<<3 | byte(protowire.VarintType)
	tagBody        = 2<<3 | byte(protowire.BytesType)
)

// decodeStream decodes the canonical encoding of a frame with a stream, which it does not
// copy. It reports false for anything else, of which the general decoder knows what is
// wrong.
func decodeStream(b []byte) (frame plan.Frame, body []byte, ok bool) {
	if len(b) == 0 {
		return frame, nil, false
	}
	tag := b[0]
	body, rest, ok := cutField(b, tag)
	if !ok || len(rest) > 0 {
		return frame, nil, false
	}
	switch tag {
	case tagCommitments:
		return plan.Frame{Kind: plan.Commitments}, body, true
	case tagIO:
		return plan.Frame{Kind: plan.IO}, body, true
	case tagOpening:
		return plan.Frame{Kind: plan.Opening}, body, true
	case tagChunk:
	default:
		return frame, nil, false
	}
	frame.Kind = plan.Chunk
	if len(body) > 0 && body[0] == tagIndex {
		v, n, err := consumeVarint(body[1:])
		if err != nil || v == 0 || v > math.MaxUint32 {
			return frame, nil, false
		}
		frame.Index, body = int(v), body[1+n:]
	}
	if len(body) == 0 { // a stream of no bytes
		return frame, nil, true
	}
	body, rest, ok = cutField(body, tagBody)
	return frame, body, ok && len(body) > 0 && len(rest) == 0
}

// cutField cuts the field with a tag from the beginning of b.
func cutField(b []byte, tag byte) (body, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != tag {
		return nil, nil, false
	}
	v, n, err := consumeVarint(b[1:])
	if err != nil || v > uint64(len(b)-1-n) {
		return nil, nil, false
	}
	b = b[1+n:]
	return b[:v], b[v:], true
}
