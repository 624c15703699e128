package proof

import (
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof/wire"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Header is the first frame of a proof: what the verifier has to know before
// anything else. The prover chooses it. The transcript absorbs all of it
// before the statement, and the verifier checks that it suits the key
// (Key.GraphOf, Key.PlanOf).
type Header struct {
	// Key is the digest of the key that the proof is for.
	Key [sha256.Size]byte
	// Sizes are those of the free dimensions of the key's circuit, in order.
	Sizes []int
	// ChunkEntries is the size of a chunk in witness entries, 0 for the
	// canonical one (model.Instance).
	ChunkEntries int
	// RowVars is log2 of the length of a row of the witness, 0 if there is none.
	RowVars int
	// Levels are the parameters of the opening; none if nothing is committed.
	Levels []soundness.Level
	// Hash is the suite that the proof is hashed with. It must be the key's. With it the header alone says how the proof is to be read.
	Hash hash.Suite
	// Reveals lists the outputs of which the proof states only the indexes of the greatest entries, by increasing output.
	Reveals []model.Reveal
	// Texts is the number of texts that the proof is of, or 0 if it is of one text or of none.
	Texts int
	// HiddenInputs and HiddenOutputs are the places, in the key's lists and increasing, of the inputs and outputs that the proof does
	// not state. If there are any, the proof must be masked.
	HiddenInputs, HiddenOutputs []int
	// TailLog is 0 in a plain proof. In a masked proof rows have tails of at most a 2^TailLog-th of
	// their length (soundness.Params).
	TailLog int
	// Trees are the trees that the opening opens besides the key's and the witness's, in the order in which they are opened.
	Trees []FirstTree
	// Segment is not nil if the proof is of a segment of a text. Trees then have the keys and values of the earlier segments and, last,
	// of this one.
	Segment *Segment
}

// NewHeader returns the header of a proof for the key with this plan. If the plan has trees that a header names, the caller sets them
// with Name or NameInputs.
func NewHeader(k *Key, p *plan.Plan) *Header {
	in := &p.Graph.Instance
	return &Header{Key: k.Digest, Sizes: in.Sizes, ChunkEntries: in.ChunkEntries, RowVars: p.Choice.WitnessRowVars, Levels: p.Choice.Levels, Hash: k.Security.Hash, Reveals: in.Reveals, Texts: in.Texts,
		HiddenInputs: in.HiddenInputs, HiddenOutputs: in.HiddenOutputs, TailLog: p.Choice.TailLog}
}

// Statement starts the transcript of a proof with this header. The transcript absorbs the header's frame, of which there is one
// encoding, and then the public values, so every challenge depends on both.
func (h *Header) Statement(inputs, outputs [][]int32) *transcript.Sponge {
	return plan.Statement(h.Hash, frameMessage.Append(nil, &frame{header: h}), inputs, outputs)
}

// Instance returns the instance of the key's circuit that the proof is of.
func (h *Header) Instance() model.Instance {
	return model.Instance{Sizes: h.Sizes, ChunkEntries: h.ChunkEntries, Texts: h.Texts, Reveals: h.Reveals, HiddenInputs: h.HiddenInputs, HiddenOutputs: h.HiddenOutputs, Segment: h.segment(), Committed: h.committed()}
}

const (
	// maxHeader bounds the bytes of a header.
	maxHeader = 1 << 14
	// maxHeaderLevels bounds its levels; package soundness takes fewer.
	maxHeaderLevels = 64
	// maxReveals bounds the outputs of which something is revealed.
	maxReveals = 64
)

// size is a number up to 2^31 − 1 that the schema declares with 64 bits.
var size = wire.Number{Kind: wire.Uint64, Most: math.MaxInt32}

var headerMessage = wire.New("Header", nil,
	versionField[Header](),
	sha256Field(2, "key", func(h *Header) *[sha256.Size]byte { return &h.Key }),
	wire.Nums(3, "sizes", size, func(h *Header) *[]int { return &h.Sizes }),
	wire.Num(4, "chunk_entries", size, func(h *Header) *int { return &h.ChunkEntries }),
	wire.Num(5, "row_vars", count, func(h *Header) *int { return &h.RowVars }),
	wire.List(6, "levels", levelMessage, func(h *Header) *[]soundness.Level { return &h.Levels }),
	wire.Num(7, "hash", wire.EnumOf(2), func(h *Header) *hash.Suite { return &h.Hash }),
	wire.List(8, "trees", firstTreeMessage, func(h *Header) *[]FirstTree { return &h.Trees }),
	wire.Num(9, "tail_log", wire.Number{Kind: wire.Uint32, Most: soundness.MaxTailLog}, func(h *Header) *int { return &h.TailLog }),
	wire.Nums(10, "hidden_inputs", count, func(h *Header) *[]int { return &h.HiddenInputs }),
	wire.Nums(11, "hidden_outputs", count, func(h *Header) *[]int { return &h.HiddenOutputs }),
	wire.List(12, "reveals", revealMessage, func(h *Header) *[]model.Reveal { return &h.Reveals }),
	wire.Num(13, "texts", wire.Number{Kind: wire.Uint32, Most: model.MaxTexts}, func(h *Header) *int { return &h.Texts }),
	wire.Optional(14, "segment", segmentMessage, func(h *Header) **Segment { return &h.Segment }),
)

// revealMessage says what is stated of an output: the index of its greatest entry (kind 0, Top is 0), or the indexes of the Top
// greatest entries (kind 1). The file has both the kind and the number. Kind 1 is stored as Top = −1 until the number, which
// comes later, is read and checked against the kind.
var revealMessage = wire.New("Reveal", nil,
	wire.Value(1, "kind", wire.EnumOf(2), func(r *model.Reveal) int64 {
		if r.Top > 0 {
			return 1
		}
		return 0
	}, func(r *model.Reveal, kind int64) error {
		r.Top = -int(kind) // until field 3 is read
		return nil
	}),
	wire.Num(2, "output", count, func(r *model.Reveal) *int { return &r.Output }),
	wire.Value(3, "top", count, func(r *model.Reveal) int64 { return int64(r.Top) }, func(r *model.Reveal, top int64) error {
		if r.Top == 0 != (top == 0) || top > model.MaxTop {
			return fmt.Errorf("the %d greatest, of a kind that has %d to %d", top, -r.Top, -r.Top*model.MaxTop)
		}
		r.Top = int(top)
		return nil
	}).Needed(),
	wire.Reserved[model.Reveal](4, "index"),
)

var levelMessage = wire.New("Level", nil,
	wire.Num(1, "fold_vars", count, func(l *soundness.Level) *int { return &l.FoldVars }),
	wire.Num(2, "row_vars", count, func(l *soundness.Level) *int { return &l.RowVars }),
	wire.Num(3, "log_blowup", count, func(l *soundness.Level) *int { return &l.LogBlowup }),
	wire.Num(4, "multiplicity", count, func(l *soundness.Level) *int { return &l.Multiplicity }),
	wire.Num(5, "queries", count, func(l *soundness.Level) *int { return &l.Queries }),
	wire.Num(6, "out_of_domain", count, func(l *soundness.Level) *int { return &l.OutOfDomain }),
	wire.Num(7, "query_grind", count, func(l *soundness.Level) *int { return &l.QueryGrind }),
	wire.Num(8, "fold_grind", count, func(l *soundness.Level) *int { return &l.FoldGrind }),
)
