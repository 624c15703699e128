// Package onnx reads models: it turns an ONNX file into a small graph in a
// normal form, with every shape known and every attribute resolved, and runs
// that graph in floating point.
//
// # Normal form
//
// [Load] returns a [Graph] about which the rest of the program may rely on:
//
//   - Nodes are in topological order, each value has one producer, and every
//     node reaches an output. Every node has exactly one output.
//   - Shapes gives the full static shape of every graph input, constant and
//     node output. A scalar has shape []. No dimension is zero.
//   - Consts holds what does not depend on the inputs: weights and everything
//     that could be computed from them (shape arithmetic, folded branches).
//     Float constants are finite. Constants that no node uses are gone.
//   - No node has only constant inputs, except an Identity (below).
//   - Axes are non-negative, and no attribute of the file is left unread:
//     a node whose attributes are not understood is refused by Load.
//
// These are the operators that occur; x is the first input. Attributes are in
// Node.Ints unless a float or string is said.
//
//	Add Sub Mul            two inputs, NumPy broadcasting to the output shape
//	Div                    the same, on floats, by a computed divisor (by a constant it is a Mul)
//	Relu Sigmoid Tanh Erf Exp Log Sqrt Reciprocal Abs Neg Softplus Softsign Mish HardSwish Sin Cos Trunc
//	                       element by element, no attributes (Trunc: Cast to an integer type); see [Node.Scalar]
//	LeakyRelu Elu Celu     the same; float alpha
//	Selu                   float alpha, gamma
//	HardSigmoid            float alpha, beta: max(0, min(1, αx + β))
//	Gelu                   string approximate: "none" or "tanh"
//	Clip                   float min, max: min(max(x, min), max); ±Inf where a side is open
//	Pow                    float exponent (a constant)
//	PRelu                  x, slope; slope broadcasts to x
//	Where                  condition (constant of 0 and 1), a, b; broadcasting
//	Gemm                   alpha·A'·B' + beta·C; transA, transB (0 or 1), float alpha, beta; A, B of rank 2;
//	                       C optional, broadcasts to the output. alpha = beta = 1 wherever B and C are constants
//	MatMul                 A, B of rank ≥ 2; leading axes broadcast
//	Conv                   x (N,C,spatial…), W (M,C/group,kernel…), optional bias (M); one or two spatial axes;
//	                       kernel, strides, dilations (one entry a spatial axis), pads (begin of each, then end
//	                       of each, never negative), group
//	BatchNormalization     x, scale (C), shift (C): x·scale + shift along axis 1; only where no Conv or Gemm
//	                       before it could take it up
//	MaxPool                kernel, strides, dilations, pads as for Conv; padding never wins, and no window is
//	                       all padding
//	AveragePool            the same; sum of the window over the zero-padded input, divided by the number of kernel
//	                       positions. (Where the file wants another divisor at the borders, a Mul by a constant follows.)
//	ReduceMean ReduceSum   axes (ascending), keepdims (0 or 1)
//	Softmax                axis, always the last
//	Reshape                to the output's shape (also Flatten, Squeeze, Unsqueeze)
//	Transpose              perm: output axis j is input axis perm[j]
//	Slice                  starts, steps (one entry an axis): output index i reads starts + i·steps; steps may be negative
//	Gather                 axis, indices (in range): output index i along axis reads indices[i]; rank is kept
//	Pad                    pads (begin of each axis, then end of each, never negative), float value
//	Concat                 axis; two inputs or more, some may be constants
//	Expand                 NumPy broadcasting to the output's shape
//	Tile                   repeats (one entry an axis)
//	Identity               only to give a graph output its name when that is an input, a constant or another output
//
// What Load does away with: Constant, Identity, Dropout, Cast between types
// that hold the same numbers, Shape and all shape arithmetic, Split (a Slice
// for each output), GlobalAveragePool (ReduceMean), GlobalMaxPool (MaxPool),
// Sum, Mean, Min, Max (Add, Mul, Clip, Sub and Relu), Pow with exponents 1, 2,
// 3 and ½, reflected and edge padding (Gather), and the differences between
// operator sets 7 and later.
//
// # Numbers
//
// All float types are computed as float: weights are rounded to float32 when
// read, and constants when folded. Integers are folded as int64; computed
// integers (an integer input, say) must stay where float64 holds them exactly.
//
// # Limits
//
// A model file is not trusted. Tensors have at most 16 axes; all computed
// values together have at most 2^27 elements; constants that folding makes have
// at most 2^24 elements beyond four times those of the file. Subgraphs,
// functions, sparse tensors, strings and quantised types are refused.
package onnx
