// Package matmul multiplies batches of matrices on all cores. Integers are
// multiplied exactly; sums of floating-point numbers are added up in the order of
// their index. So results depend neither on the number of threads nor on the processor.
//
// Operands have tables of the offsets of their entries. So transposes,
// windows of convolutions and other views are never stored as a whole: one strip of
// columns at a time is copied into the first-level cache.
package matmul
