package plan

import (
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// protocol names the version of the whole protocol; it is absorbed first.
const protocol = "prove-model protocol 4"

// Statement starts the transcript of a proof (docs/protocol.md, "Hash and transcript"). It absorbs
// the protocol's version, then the bytes of the proof file's header, then the public values. The
// header has the digest of the key, which covers the circuit, the root of the weights and
// the security asked for, and everything that the prover has chosen. The shapes of the
// public values follow from these.
func Statement(suite hash.Suite, header []byte, inputs, outputs [][]int32) *transcript.Sponge {
	s := transcript.New(suite, protocol)
	s.AbsorbBytes(header)
	for _, tensors := range [][][]int32{inputs, outputs} {
		s.AbsorbUint64(uint64(len(tensors)))
		for _, v := range tensors {
			absorbValues(s, v)
		}
	}
	return s
}
