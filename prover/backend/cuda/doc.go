// Package cuda is the backend on a device: the witness and all tables stay in
// the device's memory, and what crosses the bus are challenges, round
// polynomials, roots and opened leaves (docs/gpu.md). It runs on any
// kernels.Device, so tests run it without a GPU.
//
// A device's error leaves a method of Backend as a backend.Failure;
// backend.Fallback turns it into a step on the CPU.
package cuda
