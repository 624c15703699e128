// Package proof is the wire format: key files and proof files, byte by byte as
// docs/proof-format.md specifies them.
//
// Both are protobuf in a canonical encoding, so that a value has one encoding
// and a reader refuses every other. A table for each message (package wire) says
// which field is which part of a Go structure; schema/ says the same to other
// programs, and a test compares the two. A new field is a line in each. Readers
// take hostile bytes: every length is bounded before anything of that length is
// allocated, and every error says what is malformed. What the bytes mean for the
// proof is the business of the verifier; nothing here depends on checksums for
// soundness.
package proof
