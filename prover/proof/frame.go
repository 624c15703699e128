package proof

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/plan"
	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

const (
	// ProofMagic starts every proof file.
	ProofMagic = "PM.prf\r\n"
	// ProofVersion is the version of the proof format.
	ProofVersion = 2
	// The reader takes large frames past its buffer.
	writeBuffer = 1 << 20
	readBuffer  = 1 << 13
)

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
