// Package proofpb holds the protobuf messages of key and proof files,
// generated from key.proto and proof.proto. The generated code is committed:
// building needs no protoc.
//
// To regenerate: protoc 35 and protoc-gen-go v1.36.12 on the path.
package proofpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative key.proto proof.proto
