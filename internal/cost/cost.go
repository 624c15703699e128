// Package cost estimates the time of commitments and proofs.
package cost

import "github.com/prove-model/prove-model/prover/math/hash"

// Processor seconds of an entry, on the two x86-64 cores of docs/benchmarks.md, from a proof of SmolLM2-135M in w8a8: a weight or an entry
// of the witness in the opening, and by hash suite a weight in its commitment, and an entry of the witness in all of a proof but the opening.
const openEntry = 14e-9

var (
	commitWeight = [...]float64{hash.Blake3: 17e-9, hash.Poseidon2: 60e-9}
	proveEntry   = [...]float64{hash.Blake3: 155e-9, hash.Poseidon2: 180e-9}
)

// ProcessorTime is the seconds that committing to so many weights and proving a run with
// so many committed entries take, of all cores together.
func ProcessorTime(suite hash.Suite, weights, witness int) (commit, prove float64) {
	return commitWeight[suite] * float64(weights), openEntry*float64(weights+witness) + proveEntry[suite]*float64(witness)
}
