// Package cuda is the backend on a device: the witness and all tables stay in
// the device's memory, and what crosses the bus are challenges, round
// polynomials, roots and opened leaves (docs/gpu.md). Small things are done on
// the host: look-up trees of a few leaves, the last rounds of a sumcheck, the
// upper layers of a tree.
//
// It puts together what the packages below it do, from the bottom: device, run, then sums and open, peers. It estimates
// what proofs take of a device's memory.
package cuda
