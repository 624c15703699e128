// Package cost estimates the time of commitments and proofs.
package cost

import "github.com/prove-model/prove-model/prover/math/hash"

// Processor seconds, of all cores together, for one entry, on the two x86-64 cores of docs/benchmarks.md, from a proof of SmolLM2-135M
// in w8a8. openEntry is for a weight or an entry of the witness in the opening, commitWeight for a weight in its commitment, and proveEntry
// for an entry of the witness in the rest of a proof; the latter two depend on the hash suite.
const openEntry = 14e-9

var (
	commitWeight = [...]float64{hash.Blake3: 17e-9, hash.Poseidon2: 60e-9}
	proveEntry   = [...]float64{hash.Blake3: 155e-9, hash.Poseidon2: 180e-9}
)

// ProcessorTime estimates the processor seconds, of all cores together, to commit to the given number of weights, and to prove a run with
// the given number of committed witness entries.
func ProcessorTime(suite hash.Suite, weights, witness int) (commit, prove float64) {
	return commitWeight[suite] * float64(weights), openEntry*float64(weights+witness) + proveEntry[suite]*float64(witness)
}
