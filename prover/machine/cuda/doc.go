// Package cuda is the backend on a device: the witness and all tables stay in
// the device's memory. Only challenges, round polynomials, roots and opened
// leaves cross the bus (docs/gpu.md). Small work is done on the host: look-up
// trees of a few leaves, the last rounds of a sumcheck, the upper layers of a
// look-up tree.
//
// The package combines the packages below it: device (memory, fixed tensors, errors), run (forward passes, tensors of a witness), sums
// (sumchecks and look-up trees), open (commitments and openings on one device), and peers (the same on several devices). It also
// estimates the memory that proofs take on a device (Machine.Need, Machine.Settle).
//
// After an error of the device, a pass stops and returns the error (device.Check, device.Catch), and its memory is freed (device.Scope).
// A caller such as backend.Fallback then repeats the work elsewhere.
package cuda
