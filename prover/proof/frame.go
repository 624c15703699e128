package proof

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// FrameKind tells the frames of a proof that carry transcript bytes.
type FrameKind uint8

const (
	// Commitments holds the roots of the witness.
	Commitments FrameKind = iota + 1
	// Chunk holds the sub-proofs of a chunk; its index is the chunk's.
	Chunk
	// IO holds what follows the join of the chunks.
	IO
	// Opening holds the opening of all commitments.
	Opening
)

// String names the kind for messages.
func (k FrameKind) String() string {
	switch k {
	case Commitments:
		return "commitments"
	case Chunk:
		return "chunk"
	case IO:
		return "io"
	case Opening:
		return "opening"
	}
	return fmt.Sprintf("FrameKind(%d)", uint8(k))
}

const (
	// ProofMagic starts every proof file.
	ProofMagic = "PM.prf\r\n"
	// ProofVersion is the version of the proof format.
	ProofVersion = 2
	// The reader takes large frames past its buffer.
	writeBuffer = 1 << 20
	readBuffer  = 1 << 16
)

// sequence is the order of the frames: commitments, every chunk from 0, io, opening.
type sequence struct {
	last  FrameKind
	chunk int // the next chunk's index
}

// next advances to a frame, or says why it may not come next.
func (s *sequence) next(kind FrameKind, index int) error {
	switch {
	case kind < Commitments || kind > Opening:
		return fmt.Errorf("unknown frame kind %d", kind)
	case kind == Chunk && (s.last == Commitments || s.last == Chunk):
		if index != s.chunk {
			return fmt.Errorf("chunk %d where chunk %d is due", index, s.chunk)
		}
		s.chunk++
	case kind == s.last+1 && kind != Chunk:
		if index != 0 {
			return fmt.Errorf("frame %s has no index", kind)
		}
	default:
		return fmt.Errorf("frame %s after %s", kind, s.name())
	}
	s.last = kind
	return nil
}

// end checks that the opening was the last frame.
func (s *sequence) end() error {
	if s.last != Opening {
		return fmt.Errorf("the proof ends after %s", s.name())
	}
	return nil
}

func (s *sequence) name() string {
	if s.last == 0 {
		return "the public values"
	}
	return s.last.String()
}

func encodeFrame(kind FrameKind, index int, body []byte) *proofpb.Frame {
	switch kind {
	case Commitments:
		return &proofpb.Frame{Body: &proofpb.Frame_Commitments{Commitments: body}}
	case Chunk:
		c := &proofpb.Chunk{Index: uint32(index), Body: body}
		return &proofpb.Frame{Body: &proofpb.Frame_Chunk{Chunk: c}}
	case IO:
		return &proofpb.Frame{Body: &proofpb.Frame_Io{Io: body}}
	default:
		return &proofpb.Frame{Body: &proofpb.Frame_Opening{Opening: body}}
	}
}

func decodeFrame(f *proofpb.Frame) (kind FrameKind, index uint32, body []byte, err error) {
	switch b := f.Body.(type) {
	case *proofpb.Frame_Commitments:
		return Commitments, 0, b.Commitments, nil
	case *proofpb.Frame_Chunk:
		return Chunk, b.Chunk.Index, b.Chunk.Body, nil
	case *proofpb.Frame_Io:
		return IO, 0, b.Io, nil
	case *proofpb.Frame_Opening:
		return Opening, 0, b.Opening, nil
	case *proofpb.Frame_End:
		return 0, 0, nil, errors.New("the proof ends too soon")
	}
	return 0, 0, nil, fmt.Errorf("frame of the wrong kind %T", f.Body)
}
