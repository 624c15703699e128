// Package graph is the float model: a small language of typed operators, in which
// every shape is known. File formats are read into it, it runs in floating point
// as the reference for accuracy, and package quantise turns it into integers.
//
// # Making a graph
//
// A [Builder] makes graphs. Its methods are the operations:
//
//	b := graph.NewBuilder("perceptron")
//	x := b.Input("x", graph.Float, []int{1, 4}, "batch", "")
//	w := b.Constant("w", &graph.Tensor{Shape: []int{4, 3}, DType: graph.Float, F32: weights})
//	b.Output("y", b.Apply(graph.Relu, b.MatMul(x, w)))
//	g, err := b.Graph()
//
// It simplifies at once: it folds constants, leaves out operations that do nothing (a Transpose
// that keeps the order, a Slice of everything), and expands operations that the normal form does
// not have (Max as y + relu(x − y)). At the end it recognises groups of operations that make up a
// norm or a masked Softmax. It collects all errors, each with the node that it is about, and
// returns them together.
//
// # Normal form
//
// The rest of the program relies on these properties of a [Graph], which [Graph.Validate] checks:
//
//   - Nodes are in topological order, each value has one producer, and every
//     node has exactly one output.
//   - Shapes gives the full static shape of every graph input, constant and
//     node output. A scalar has shape []. [Input.Symbols] says which axes of the
//     inputs the model leaves open. A value with a dimension of zero is either an
//     input that no node reads, or an output.
//   - Consts holds the values that do not depend on the inputs and that a node reads.
//     Float constants are finite.
//   - Numbers are finite, with two exceptions: inputs that say otherwise ([Input.Numbers]),
//     which only Finite and Class may read, and outputs that an Extend makes.
//   - No node has only constant inputs, except an Identity or an Extend. No Div has
//     a constant divisor. Alpha and Beta of a Gemm are 1, its third operand is constant,
//     and so is at least one of its matrices if there is a third operand.
//   - Axes are non-negative, indices are in range, operands have the shapes that
//     the operator asks for.
//
// The operators, each with its shape rule and its evaluation, one file for each family:
//
//	scalar.go      Scalar: a function of one number, element by element; functions.go has the functions
//	arithmetic.go  Add Sub Mul Div with NumPy broadcasting, PRelu
//	logic.go       Where with a constant condition
//	ask.go         Test: how an element compares with 0
//	bits.go        Bits: the binary digits of integers
//	intdiv.go      FloorDiv, FloorMod: quotients rounded down, and their remainders
//	rescale.go     Rescale: products of whole numbers with a factor, rounded
//	linear.go      Gemm, MatMul
//	conv.go        Conv over one or two spatial axes
//	pool.go        MaxPool, AveragePool
//	reduce.go      Reduce: sum, mean or greatest element along axes
//	softmax.go     Softmax along the last axis, where masks of 0 and 1 may leave elements out; LogSoftmax
//	norm.go        Norm: LayerNorm, RMSNorm, L2 norm; recognise.go also finds them spelled out in smaller operators
//	logpower.go    LogPower: the logarithm of sums of squares; only the recogniser makes it
//	logbands.go    LogBands: the logarithm of weighted sums of squares; only the recogniser makes it
//	batchnorm.go   BatchNorm, if it could not be folded into a Conv or Gemm before it
//	channels.go    moves factors that differ much from channel to channel to where other factors cancel them
//	move.go        Reshape Convert Wraparound Identity Transpose Slice Gather Pad Expand Tile Concat
//	extended.go    Finite, Class, Extend: values that may be NaN or infinite, and their parts
//	take.go        Take: elements at computed indices
//	experts.go     Slots, InSlots, Experts, MixSlots: mixtures of experts, in which each row uses a few of many matrices
//	trees.go       Exceeds, Forest: comparisons of features with thresholds, and sums over trees that branch by them
//
// Some operators serve only to fold constants, and do not remain in a graph: comparisons of two
// operands, Min, Max, Mod, Power, ReduceMin, ReduceProd and Sign. For computed operands the builder
// expands these into other operators, as it does with ArgMax, TopK and OneHot (minmax.go).
//
// # Adding an operator
//
// A function of one number is an entry in functions.go and nothing else: readers find it by its
// name, and the quantiser makes a table of its formula. Any other operator is a type that
// implements [Op] and a method of [Builder], both in its family's file; a line in a reader's table;
// and a lowering in package quantise. CONTRIBUTING.md lists the files.
//
// # Numbers
//
// Weights are float32, folded constants are rounded to float32, and computed values are float64,
// whatever the model's float type. The terms of every sum are added in one fixed order, whatever
// the number of threads. Integers are folded as int64. Computed integers (those of an integer
// input, say) must be small enough for float64 to hold them exactly.
//
// # Limits
//
// A builder does not trust its caller, who may be reading a hostile file. Tensors have at most 16
// axes. A computed value has at most 2^29 elements, and all computed values together have at most
// 2^32, unless only the shapes of the graph are needed ([Builder.Outline]). Constants that folding
// makes have at most 2^24 elements, plus four for each element of the model's own constants.
package graph
