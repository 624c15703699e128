// Package onnx reads ONNX files: models into the operators of package graph, and tensors as inputs of a model (as it does
// NumPy, JSON, CSV and picture files).
//
// [Load] decodes the protocol buffer without copying the weights, checks that every name in it is defined once, gives sizes
// to the dimensions that the file leaves open, and builds each node with a [graph.Builder]. This package decides what a
// node's attributes and optional inputs mean in each operator set. A node with an attribute that is not understood is
// refused. The builder decides how an operation is computed, and what its operands must be.
//
// A function of one number is found in package graph by its ONNX name. For other
// operators there is a table, in lower.go.
//
// Load removes or replaces Constant, Identity, Dropout, Shape and all shape
// arithmetic, Split (a Slice for each output), GlobalAveragePool (a mean),
// GlobalMaxPool (MaxPool), and the differences between operator sets.
//
// # Limits
//
// A model file is not trusted. The builder bounds the memory and work that a file can cause. Functions and sparse tensors
// are refused. Strings are not values of the graph: the graph's vocabulary says how they are mapped to numbers, and numbers
// to strings (package vocabulary).
package onnx
