// Package cuda is the backend on a device: the witness and all tables stay in
// the device's memory, and what crosses the bus are challenges, round
// polynomials, roots and opened leaves (docs/gpu.md). Small things are done on
// the host: look-up trees of a few leaves, the last rounds of a sumcheck, the
// upper layers of a tree. It runs on any kernels.Device, so tests run it without
// a GPU.
//
// Rounds are batched: a launch does a round, or two, of all sums of a batch, and
// leaves the sums in a mailbox that the host waits for. Challenges are bound with
// the next launch.
//
// Within the package a device's error is a panic that every exported method turns
// into its error (failure.go). backend.Fallback turns that into work for the CPU.
package cuda
