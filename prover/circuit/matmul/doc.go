// Package matmul multiplies batches of matrices on all cores: of integers
// exactly, of floating-point numbers with every sum in the order of its index.
// So results depend neither on the number of threads nor on the processor.
//
// Operands say where their entries lie by tables of offsets, so transposes,
// windows of convolutions and other views are never written out: a strip of
// columns at a time is copied into the first-level cache.
package matmul
