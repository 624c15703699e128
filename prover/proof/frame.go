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
	// The reader takes large frames past its buffer.
	writeBuffer = 1 << 20
	readBuffer  = 1 << 13
)

// frame is a message of a proof file. One of its fields is set; those of bytes may have none.
type frame struct {
	header                        *Header
	public                        *public
	commitments, io, opening, end []byte
	chunk                         *chunk
}

// public are packed values, one of bytes a tensor.
type public struct{ inputs, outputs [][]byte }

type chunk struct {
	index int
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

// frameHead returns what comes before the n bytes of a stream in the file: the frame's length, and
// the tags and lengths of what the stream is in.
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

// stream returns a frame's stream and what it is of.
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
