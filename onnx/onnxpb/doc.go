// Package onnxpb holds the protocol buffer messages of the ONNX format, as far
// as prove-model reads them. See onnx.proto; onnx.pb.go is generated from it.
package onnxpb

// Needs protoc and protoc-gen-go v1.36 on the PATH. `pip install grpcio-tools`
// has a protoc: `python -m grpc_tools.protoc` takes the same arguments.
//
//go:generate protoc --go_out=. --go_opt=paths=source_relative onnx.proto
