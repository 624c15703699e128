// Package gguf reads models in the GGUF format, versions 2 and 3: metadata by name,
// and tensors in full precision or in the quantised types F32, F16, BF16, Q8_0,
// Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K, whose numbers are decoded when they
// are asked for.
//
// A file is the bytes "GGUF", a version, the numbers of tensors and of metadata,
// then these, then the data. All numbers are little-endian. A tensor's dimensions
// are in the order of memory, the fastest first; [weights.Tensor] has them in
// row-major order, as all of this program does.
//
// Nothing in a file is trusted: every length is checked against the bytes that are
// left before memory of that length is allocated, names and keys must be unique,
// and tensors must not overlap.
package gguf
