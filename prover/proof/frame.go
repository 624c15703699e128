package proof

import (
	"encoding/binary"
	"errors"

	"github.com/prove-model/prove-model/prover/proof/wire"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

const (
	// ProofMagic starts every proof file.
	ProofMagic = "PM.prf\r\n"
	// The sizes of the buffers of Writer and Reader. The reader's may be small, as bufio reads large frames past its buffer.
	writeBuffer = 1 << 20
	readBuffer  = 1 << 13
)

// frame is a message of a proof file: exactly one field is set. A field of bytes that is set may have no bytes, but is not nil.
type frame struct {
	header                        *Header
	public                        *public
	commitments, io, opening, end []byte
	chunk                         *chunk
}

// public has the packed entries (packValues) of each public tensor.
type public struct{ inputs, outputs [][]byte }

// chunk is the stream of the sub-transcript of one chunk.
type chunk struct {
	index int // of the chunk, from 0
	body  []byte
}

var (
	commitmentsField = wire.Member(3, "commitments", func(f *frame) *[]byte { return &f.commitments })
	chunkField       = wire.Optional(4, "chunk", chunkMessage, func(f *frame) **chunk { return &f.chunk })
	ioField          = wire.Member(5, "io", func(f *frame) *[]byte { return &f.io })
	openingField     = wire.Member(6, "opening", func(f *frame) *[]byte { return &f.opening })
	bodyField        = wire.Raw(2, "body", func(c *chunk) *[]byte { return &c.body })
)

var frameMessage = wire.New("Frame", nil, wire.OneOf("body",
	wire.Optional(1, "header", headerMessage, func(f *frame) **Header { return &f.header }),
	wire.Optional(2, "public", publicMessage, func(f *frame) **public { return &f.public }),
	commitmentsField,
	chunkField,
	ioField,
	openingField,
	wire.Member(7, "end", func(f *frame) *[]byte { return &f.end }),
)...)

var publicMessage = wire.New("Public", nil,
	wire.List(1, "inputs", valuesMessage, func(p *public) *[][]byte { return &p.inputs }),
	wire.List(2, "outputs", valuesMessage, func(p *public) *[][]byte { return &p.outputs }),
)

var valuesMessage = wire.New("Values", nil,
	wire.Raw(1, "packed", func(v *[]byte) *[]byte { return v }),
)

var chunkMessage = wire.New("Chunk", nil,
	wire.Num(1, "index", count, func(c *chunk) *int { return &c.index }),
	bodyField,
)

// frameHead returns the bytes before a stream of n bytes in the file: the frame's length, and the tags and lengths
// of the messages that the stream is in. So Writer can write a stream that is not encoded in one piece.
func frameHead(f plan.Frame, n int) []byte {
	var head []byte
	switch f.Kind {
	case plan.Commitments:
		head = commitmentsField.AppendHead(nil, n)
	case plan.Chunk:
		own := chunkMessage.Append(nil, &chunk{index: f.Index})
		if n > 0 {
			own = bodyField.AppendHead(own, n)
		}
		head = append(chunkField.AppendHead(nil, len(own)+n), own...)
	case plan.IO:
		head = ioField.AppendHead(nil, n)
	case plan.Opening:
		head = openingField.AppendHead(nil, n)
	}
	return append(binary.AppendUvarint(nil, uint64(len(head)+n)), head...)
}

// stream returns the stream of a frame, and its kind and index as a plan.Frame. Other frames are an error.
func (f *frame) stream() (plan.Frame, []byte, error) {
	switch {
	case f.commitments != nil:
		return plan.Frame{Kind: plan.Commitments}, f.commitments, nil
	case f.chunk != nil:
		return plan.Frame{Kind: plan.Chunk, Index: f.chunk.index}, f.chunk.body, nil
	case f.io != nil:
		return plan.Frame{Kind: plan.IO}, f.io, nil
	case f.opening != nil:
		return plan.Frame{Kind: plan.Opening}, f.opening, nil
	case f.end != nil:
		return plan.Frame{}, nil, errors.New("the proof ends too soon")
	case f.header != nil:
		return plan.Frame{}, nil, errors.New("a header after the header")
	case f.public != nil:
		return plan.Frame{}, nil, errors.New("public values twice")
	}
	return plan.Frame{}, nil, errors.New("an empty frame")
}
