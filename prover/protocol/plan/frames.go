package plan

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// FrameKind is the kind of a message (frame) of a proof that carries transcript bytes.
type FrameKind uint8

const (
	// Commitments holds the root of the witness.
	Commitments FrameKind = iota + 1
	// Chunk holds the sub-transcript of the chunk with the same index.
	Chunk
	// IO holds the sub-transcript of the public outputs.
	IO
	// Opening holds the opening of all commitments.
	Opening
)

// Frame is a message of a proof's file that carries transcript bytes.
type Frame struct {
	Kind  FrameKind
	Index int // of a chunk, else 0
	// Bytes is the greatest length of the stream, at transcript.LimbBytes for an
	// element of F. Exact says that the stream always has this length. In a file a stream of
	// elements of F is packed and so shorter (package proof). Words says that the stream may
	// have digests whose words are no elements of F, which cannot be packed.
	Bytes int64
	Exact bool
	Words bool
}

// String names the message, for errors.
func (f Frame) String() string {
	switch f.Kind {
	case Commitments:
		return "commitments"
	case Chunk:
		return fmt.Sprintf("chunk %d", f.Index)
	case IO:
		return "io"
	case Opening:
		return "opening"
	}
	return fmt.Sprintf("frame of kind %d", uint8(f.Kind))
}

const digestBytes = hash.DigestBytes

// maxOpening is the most bytes of an opening, whatever levels a proof has. Openings
// grow with the logarithm of the model's size and are far smaller.
const maxOpening = 64 << 20

// frames lists the messages in their order.
func (p *Plan) frames() []Frame {
	roots := 0
	if p.WitnessTree() != nil {
		roots = 1
	}
	words := !p.Config.Hash.ElementDigests()
	list := []Frame{{Kind: Commitments, Bytes: int64(roots) * digestBytes, Exact: true, Words: words}}
	for _, f := range p.Forks {
		frame := Frame{Kind: Chunk, Index: f.Chunk, Bytes: f.Bytes, Exact: true, Words: words}
		if f.Chunk < 0 {
			frame.Kind, frame.Index = IO, 0
		}
		list = append(list, frame)
	}
	return append(list, Frame{Kind: Opening, Bytes: p.openingBytes(), Words: words})
}

// openingBytes bounds the length of the opening: round polynomials, nonces, roots,
// samples, leaves, paths, the last row.
func (p *Plan) openingBytes() int64 {
	if p.Params == nil {
		return 0
	}
	var n int64
	for i, l := range p.Params.Levels {
		n += int64(l.FoldVars) * (2*elementBytes + transcript.LimbBytes)
		n += digestBytes + int64(l.OutOfDomain)*elementBytes + transcript.LimbBytes
		query := int64(elementBytes)<<l.FoldVars + int64(l.LogDomain())*digestBytes
		if i == 0 {
			query = 0
			for j := range p.Trees {
				t := &p.Trees[j]
				query += int64(t.Rows())*transcript.LimbBytes + int64(t.LogDomain())*digestBytes
				if t.Salted() {
					query += digestBytes
				}
			}
		}
		n += int64(l.Queries) * query
	}
	if p.Pads != nil { // the proof of products, and the auxiliary row's round
		n += int64(2*p.Pads.Vars()+3)*elementBytes + 2*elementBytes + transcript.LimbBytes
	}
	last := p.Params.FinalVars()
	n += elementBytes<<last + int64(last)*2*elementBytes
	return min(n, maxOpening)
}
