// Package forward executes a quantised graph on integers and so computes the whole
// witness: every committed tensor and the multiplicities of every table
// (docs/protocol.md, "Prover phases").
//
// All arithmetic is exact. Accumulators are summed in 64 bits and checked against
// ±2^30, look-up keys against their table: a run that passes here is the same over
// the integers as over the field. Results do not depend on the number of threads.
package forward
