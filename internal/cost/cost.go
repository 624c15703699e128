// Package cost estimates the time of commitments and proofs.
package cost

// Processor seconds, of all cores together, for one entry, on the two x86-64 cores of
// docs/benchmarks.md. commitWeight is to quantise a weight and commit to it, from the
// commitments of SmolLM2-135M and of the perceptron of 67 million weights. openEntry is
// for a weight or an entry of the witness in the opening, and proveEntry for an entry of
// the witness in the rest of a proof, both from the proof of SmolLM2-135M in w8a8: 164
// million weights, 28 million entries, 8.4 s and 7.6 s.
const (
	commitWeight = 120e-9
	openEntry    = 44e-9
	proveEntry   = 270e-9
)

// ProcessorTime estimates the processor seconds, of all cores together, to commit to the
// given number of weights, and to prove a run with the given number of committed witness
// entries.
func ProcessorTime(weights, witness int) (commit, prove float64) {
	return commitWeight * float64(weights), openEntry*float64(weights+witness) + proveEntry*float64(witness)
}
