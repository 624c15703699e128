package proof

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof/proofpb"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Header is the first frame of a proof: what the verifier has to know before
// anything else. It is the prover's choice; the transcript absorbs all of it
// before the statement, and the verifier checks that it suits the key.
type Header struct {
	// Key is the digest of the key that the proof is for.
	Key [32]byte
	// Sizes are those of the free dimensions of the key's circuit, in order.
	Sizes []int
	// ChunkEntries is the size of a chunk in witness entries, 0 for the
	// canonical one (model.Instance).
	ChunkEntries int
	// RowVars is log2 of the length of a row of the witness, 0 if there is none.
	RowVars int
	// Levels are the parameters of the opening; none if nothing is committed.
	Levels []soundness.Level
}

// NewHeader returns the header of a proof for the key with this plan.
func NewHeader(k *Key, p *plan.Plan) *Header {
	in := &p.Graph.Instance
	return &Header{Key: k.Digest, Sizes: in.Sizes, ChunkEntries: in.ChunkEntries, RowVars: p.Choice.WitnessRowVars, Levels: p.Choice.Levels}
}

// Instance returns the instance of the key's circuit that the proof is of.
func (h *Header) Instance() model.Instance {
	return model.Instance{Sizes: h.Sizes, ChunkEntries: h.ChunkEntries}
}

const (
	// maxHeader bounds the bytes of a header.
	maxHeader = 1 << 12
	// maxHeaderLevels bounds its levels; package soundness takes fewer.
	maxHeaderLevels = 64
)

func encodeHeader(h *Header) *proofpb.Header {
	return &proofpb.Header{
		Version: ProofVersion, Key: h.Key[:], Sizes: encodeInts[uint64](h.Sizes), ChunkEntries: uint64(h.ChunkEntries),
		RowVars: uint32(h.RowVars), Levels: encodeList(h.Levels, encodeLevel),
	}
}

func decodeHeader(p *proofpb.Header) (h Header, err error) {
	if p.Version != ProofVersion {
		return h, refuseVersion(p.Version, ProofVersion)
	}
	if len(p.Key) != len(h.Key) {
		return h, fmt.Errorf("key digest of %d bytes", len(p.Key))
	}
	var d decoder
	copy(h.Key[:], p.Key)
	for _, n := range p.Sizes {
		h.Sizes = append(h.Sizes, d.count(n))
	}
	h.ChunkEntries, h.RowVars, h.Levels = d.count(p.ChunkEntries), d.small(p.RowVars), make([]soundness.Level, len(p.Levels))
	for i, l := range p.Levels {
		h.Levels[i] = d.level(l)
	}
	return h, d.err
}

// small is count for 32 bits.
func (d *decoder) small(v uint32) int { return d.count(uint64(v)) }

func encodeLevel(l *soundness.Level) *proofpb.Level {
	return &proofpb.Level{
		FoldVars: uint32(l.FoldVars), RowVars: uint32(l.RowVars), LogBlowup: uint32(l.LogBlowup),
		Multiplicity: uint32(l.Multiplicity), Queries: uint32(l.Queries), OutOfDomain: uint32(l.OutOfDomain),
		QueryGrind: uint32(l.QueryGrind), FoldGrind: uint32(l.FoldGrind),
	}
}

func (d *decoder) level(p *proofpb.Level) soundness.Level {
	return soundness.Level{
		FoldVars: d.small(p.FoldVars), RowVars: d.small(p.RowVars), LogBlowup: d.small(p.LogBlowup),
		Multiplicity: d.small(p.Multiplicity), Queries: d.small(p.Queries), OutOfDomain: d.small(p.OutOfDomain),
		QueryGrind: d.small(p.QueryGrind), FoldGrind: d.small(p.FoldGrind),
	}
}
