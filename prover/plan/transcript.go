package plan

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/transcript"
)

// protocol names the version of the whole protocol; it is absorbed first.
const protocol = "prove-model protocol 2"

// Statement starts the transcript of a proof: the protocol's version, the
// header (the digest of the key, which covers circuit, weights' root and
// security, then all that the prover chose), and the public values, whose
// shapes circuit and sizes fix.
func Statement(h *proof.Header, inputs, outputs [][]int32) *transcript.Sponge {
	s := transcript.New(protocol)
	s.AbsorbBytes(h.Key[:])
	absorbInts(s, len(h.Sizes))
	absorbInts(s, h.Sizes...)
	absorbInts(s, h.ChunkEntries, h.RowVars, len(h.Levels))
	for _, l := range h.Levels {
		absorbInts(s, l.FoldVars, l.RowVars, l.LogBlowup, l.Multiplicity, l.Queries, l.OutOfDomain, l.QueryGrind, l.FoldGrind)
	}
	for _, tensors := range [][][]int32{inputs, outputs} {
		s.AbsorbUint64(uint64(len(tensors)))
		for _, v := range tensors {
			s.AbsorbUint64(uint64(len(v)))
			limbs := make([]field.M31, len(v))
			field.FromInt32Vec(limbs, v)
			s.Absorb(limbs...)
		}
	}
	return s
}

func absorbInts(s *transcript.Sponge, values ...int) {
	for _, v := range values {
		s.AbsorbUint64(uint64(v))
	}
}
