// Package gguf reads models in the GGUF format, versions 2 and 3: metadata by name,
// and tensors in full precision or in one of the quantised types that blocks.go lists,
// whose numbers are decoded when they are asked for.
//
// A file is the bytes "GGUF", a version, the numbers of tensors and of metadata entries,
// the metadata, the descriptions of the tensors, and the data. All numbers are little-endian. A
// tensor's dimensions are written in the order of memory, the fastest first; [weights.Tensor] has
// them in row-major order, as all of this program does.
//
// Nothing in a file is trusted: every length is checked against the bytes that are
// left before memory of that length is allocated, names and keys must be unique,
// and tensors must not overlap.
package gguf
