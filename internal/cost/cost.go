// Package cost estimates the time of commitments and proofs.
package cost

// Processor seconds of an entry, on the two x86-64 cores of docs/benchmarks.md: a weight
// that is quantised and committed to, from the commitments of SmolLM2-135M and of the
// perceptron of 67 million weights; a weight and an entry of the witness in the opening,
// and the latter in the rest of a proof, from the proof of SmolLM2-135M in w8a8: 164
// million weights, 28 million entries, 8.4 s and 7.6 s.
const (
	commitWeight = 120e-9
	openEntry    = 44e-9
	proveEntry   = 270e-9
)

// ProcessorTime is the seconds that committing to so many weights and proving a run with
// so many committed entries take, of all cores together.
func ProcessorTime(weights, witness int) (commit, prove float64) {
	return commitWeight * float64(weights), openEntry*float64(weights+witness) + proveEntry*float64(witness)
}
