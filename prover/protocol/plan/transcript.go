package plan

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// protocol names the version of the whole protocol; it is absorbed first.
const protocol = "prove-model protocol 3"

// Statement starts the transcript of a proof for the key with this digest: the
// protocol's version, the digest (which covers the key's circuit, the root of the
// weights and the security asked for), what the prover has chosen (sizes, layout
// and the parameters of the opening), and the public values, whose shapes follow.
func (p *Plan) Statement(key [32]byte, inputs, outputs [][]int32) *transcript.Sponge {
	return Statement(p.Config.Hash, key, &p.Graph.Instance, &p.Choice, inputs, outputs)
}

// Statement is Plan.Statement for an instance of a circuit, with the given
// hash suite and parameters.
func Statement(suite hash.Suite, key [32]byte, in *model.Instance, choice *Choice, inputs, outputs [][]int32) *transcript.Sponge {
	s := transcript.New(suite, protocol)
	s.AbsorbBytes(key[:])
	absorbInts(s, len(in.Sizes))
	absorbInts(s, in.Sizes...)
	absorbInts(s, in.ChunkEntries, choice.WitnessRowVars, len(choice.Levels))
	for _, l := range choice.Levels {
		absorbInts(s, l.FoldVars, l.RowVars, l.LogBlowup, l.Multiplicity, l.Queries, l.OutOfDomain, l.QueryGrind, l.FoldGrind)
	}
	for _, tensors := range [][][]int32{inputs, outputs} {
		s.AbsorbUint64(uint64(len(tensors)))
		for _, v := range tensors {
			absorbValues(s, v)
		}
	}
	return s
}

func absorbInts(s *transcript.Sponge, values ...int) {
	for _, v := range values {
		s.AbsorbUint64(uint64(v))
	}
}
