// Package matmul multiplies batches of matrices on all cores: of integers
// exactly, of floating-point numbers with every sum in the order of its index.
// So results depend neither on the number of threads nor on the processor.
//
// Operands give the places of their entries as tables of offsets. So transposes,
// windows of convolutions and other views are never stored as a whole: a strip of
// columns at a time is copied into the first-level cache.
package matmul
