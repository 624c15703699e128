// Package forward executes a quantised graph on integers and so computes the whole
// witness: every committed tensor and the multiplicities of every table
// (docs/protocol.md, "Prover phases").
//
// All arithmetic is exact. Accumulators are summed in 64 bits and checked against
// ±2^30, and look-up keys against their table. So a run without an error has the same
// values over the integers and modulo p. Results do not depend on the number of threads.
package forward
