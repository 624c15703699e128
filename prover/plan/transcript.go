package plan

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/transcript"
)

// protocol names the version of the whole protocol; it is absorbed first.
const protocol = "prove-model protocol 2"

// Statement starts the transcript of a proof: the protocol's version, the key
// digest (which covers graph, weights' root and security parameters), and the
// public values, whose shapes the graph fixes.
func Statement(key [32]byte, inputs, outputs [][]int32) *transcript.Sponge {
	s := transcript.New(protocol)
	s.AbsorbBytes(key[:])
	limbs := make([]field.M31, 1<<12)
	for _, tensors := range [][][]int32{inputs, outputs} {
		s.AbsorbUint64(uint64(len(tensors)))
		for _, v := range tensors {
			s.AbsorbUint64(uint64(len(v)))
			for len(v) > 0 {
				n := min(len(v), len(limbs))
				field.FromInt32Vec(limbs[:n], v[:n])
				s.Absorb(limbs[:n]...)
				v = v[n:]
			}
		}
	}
	return s
}
