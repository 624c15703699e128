// Package proof is the wire format: key files and proof files, byte by byte as
// docs/proof-format.md specifies them.
//
// Both are protobuf in a canonical encoding: each value has one encoding, and a
// reader refuses every other. A table for each message type (package wire) maps
// its fields to parts of a Go structure. The .proto files in schema/ describe the
// same messages for other programs, and a test compares the two; a new field is a
// line in each. Readers accept hostile bytes: every length is bounded before
// anything of that length is allocated, and every error says what is malformed.
// Whether a proof is valid is for package verifier to decide. The checksum at the
// end of a proof only detects damage; soundness does not depend on it.
package proof
