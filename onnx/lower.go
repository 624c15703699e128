package onnx

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// reader turns the graph of a file into one in normal form, node by node in
// topological order.
type reader struct {
	*graph.Builder
	file    *fileGraph
	opset   int
	values  map[string]graph.Value // of the file; zero Values of nodes that failed
	nested  bool                   // in the body of a node, whose names are its own
	types   map[string]graph.DType // of values that floats are computed from, as the file states them
	narrows *narrows
}

// lower turns the file's graph into normal form.
func lower(f *fileGraph, opset int, opts Options) (*graph.Graph, error) {
	inputs, err := inputValues(f.inputs, opts)
	f.inner.written = 0
	r := &reader{Builder: graph.NewBuilder(f.name), file: f, opset: opset, values: map[string]graph.Value{}, types: map[string]graph.DType{}, narrows: &narrows{round: opts.typed}}
	if opts.Memory > 0 {
		r.Limit(opts.Memory)
	}
	if err == nil {
		r.reserveNames()
		for _, v := range inputs {
			r.types[v.Name] = v.DType
			r.values[v.Name] = r.ExtendedInput(v.Name, v.DType, v.Numbers, v.Shape, v.Symbols...)
		}
		err = r.decodeInitializers()
	}
	if err != nil {
		// Report unknown operators first: no value of a dimension would help with
		// them.
		if errs := unknownOperators(f); len(errs) > 0 {
			return nil, errs
		}
		return nil, err
	}
	for _, n := range f.nodes {
		r.lowerNode(n)
	}
	for _, out := range f.outputs {
		r.Output(out, r.values[out])
	}
	g, err := r.Graph()
	if err == nil && r.narrows.some && !opts.typed {
		rounded := rebound(g.Inputs, nil, opts.Memory)
		rounded.typed = true
		g.Typed = func() (*graph.Graph, error) { return lower(f, opset, rounded) }
	}
	return g, err
}

// reserveNames reserves all names of the file for the file's own values.
func (r *reader) reserveNames() {
	for _, v := range r.file.inputs {
		r.Reserve(v.GetName())
	}
	for name := range r.file.fixed {
		r.Reserve(name)
	}
	for name := range r.file.initializers {
		r.Reserve(name)
	}
	for _, n := range r.file.nodes {
		r.Reserve(n.Output...)
	}
}

// decodeInitializers makes the constants, which all graphs of a file share.
func (r *reader) decodeInitializers() error {
	if r.file.constants == nil {
		r.file.constants = map[string]*graph.Tensor{}
		for _, name := range slices.Sorted(maps.Keys(r.file.initializers)) {
			t, err := decode(r.file.initializers[name], r.file.source.external)
			if err != nil {
				return fmt.Errorf("initializer %s: %w", graph.Quote(name), err)
			}
			r.file.constants[name] = t
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.file.constants)) {
		r.values[name] = r.Constant(name, r.file.constants[name])
		r.types[name] = r.file.constants[name].DType
	}
	for _, name := range slices.Sorted(maps.Keys(r.file.fixed)) {
		r.values[name] = r.Constant(name, r.file.fixed[name])
	}
	return nil
}

// unknownOperators returns the nodes whose operator is not in the table.
func unknownOperators(f *fileGraph) graph.NodesError {
	var errs graph.NodesError
	for _, n := range f.nodes {
		if reason := f.unknownOperator(n); reason != "" {
			errs = append(errs, graph.NodeError{Op: operatorName(n), Name: nodeName(n), Reason: reason})
		}
	}
	return errs
}

func (f *fileGraph) unknownOperator(n *onnxpb.NodeProto) string {
	if f.functions[[2]string{n.GetDomain(), n.GetOpType()}] {
		return "is a function of the model; inline functions before export"
	}
	if d := n.GetDomain(); !standardDomain(d) && d != microsoft && d != classical && d != preview {
		return "operators of this domain are not supported"
	}
	if lowering(n) == nil {
		return "the operator is not supported"
	}
	return ""
}

// operatorName is the operator of n for messages.
func operatorName(n *onnxpb.NodeProto) string {
	if standardDomain(n.GetDomain()) {
		return n.GetOpType()
	}
	return n.GetDomain() + "." + n.GetOpType()
}

// lowerNode builds the operations of n, or records why it cannot. It skips a node
// that depends on a failed one.
func (r *reader) lowerNode(n *onnxpb.NodeProto) {
	r.At(operatorName(n), nodeName(n))
	if reason := r.file.unknownOperator(n); reason != "" {
		r.Failf("%s", reason)
		return
	}
	for _, in := range reads(n) {
		if in != "" && !r.Valid(r.values[in]) {
			return
		}
	}
	o := &op{reader: r, proto: n, attrs: map[string]*onnxpb.AttributeProto{}}
	if !o.lower() {
		for _, out := range n.Output {
			delete(r.values, out)
		}
	}
}

// lowering returns the function that builds a node's operator, or nil. A function of
// one number needs no entry in the table: it is found by its name in package graph.
func lowering(n *onnxpb.NodeProto) func(*op) {
	operator := n.GetOpType()
	switch n.GetDomain() {
	case microsoft:
		return microsoftLowerings[operator]
	case classical:
		return classicalLowerings[operator]
	case preview:
		if operator == "FlexAttention" {
			return lowerFlexAttention
		}
		return nil
	}
	if f := lowerings[operator]; f != nil {
		return f
	}
	if f := graph.FunctionNamed(operator); f != nil && f != graph.Trunc { // which is no operator of ONNX
		return func(o *op) { lowerFunction(o, f) }
	}
	return nil
}

// arithmetic are the operators whose results on integers may leave the type that their
// operands have. (A quotient does so in one case, −2^(n−1)/−1.)
var arithmetic = map[string]bool{
	"Add": true, "Sub": true, "Mul": true, "Div": true, "Pow": true, "Sum": true, "Neg": true, "Abs": true,
	"MatMul": true, "Gemm": true, "Einsum": true, "MatMulInteger": true, "ConvInteger": true, "Conv": true, "Det": true,
	"CumSum": true, "CumProd": true, "ReduceSum": true, "ReduceProd": true, "ReduceSumSquare": true, "ReduceL1": true,
}

// preview is the domain of operators that may become part of ONNX.
const preview = "ai.onnx.preview"

// lowerings has the operators that are not functions of one number, or that have
// inputs or attributes besides a function's parameters. Some are supported on
// constants only.
var lowerings = map[string]func(*op){
	"Add": twoInputs((*graph.Builder).Add), "Sub": twoInputs((*graph.Builder).Sub),
	"Mul": twoInputs((*graph.Builder).Mul), "Div": twoInputs((*graph.Builder).Div),
	"Sum": lowerSum, "Mean": lowerMean, "Min": lowerMin, "Max": lowerMax,
	"Pow": twoInputs((*graph.Builder).Pow), "Mod": lowerMod, "PRelu": twoInputs((*graph.Builder).PRelu),
	"Equal": comparison(graph.Equal), "Less": comparison(graph.Less), "LessOrEqual": comparison(graph.LessOrEqual),
	"Greater": comparison(graph.Greater), "GreaterOrEqual": comparison(graph.GreaterOrEqual),
	"And": comparison(graph.And), "Or": comparison(graph.Or), "Xor": comparison(graph.Xor), "Not": lowerNot, "Sign": lowerSign,
	"BitwiseAnd": bitwise(graph.And), "BitwiseOr": bitwise(graph.Or), "BitwiseXor": bitwise(graph.Xor), "BitwiseNot": lowerBitwiseNot,
	"BitShift": lowerBitShift, "BitCast": lowerBitCast, "Det": lowerDet, "OptionalHasElement": lowerHasElement, "OptionalGetElement": lowerIdentity,
	"Where": lowerWhere, "Gelu": lowerGelu, "Clip": lowerClip, "Cast": lowerCast, "CastLike": lowerCastLike,

	"Gemm": lowerGemm, "MatMul": twoInputs((*graph.Builder).MatMul), "Conv": lowerConv,
	"BatchNormalization": lowerBatchNorm, "LayerNormalization": lowerLayerNorm,
	"RMSNormalization": lowerRMSNorm, "LpNormalization": lowerLpNorm,
	"ConvTranspose": lowerConvTranspose, "LpPool": lowerLpPool, "GlobalLpPool": lowerGlobalLpPool,
	"InstanceNormalization": lowerInstanceNorm, "GroupNormalization": lowerGroupNorm,
	"MeanVarianceNormalization": lowerMVN, "LRN": lowerLRN,
	"QuantizeLinear": lowerQuantizeLinear, "DequantizeLinear": lowerDequantizeLinear, "MatMulInteger": lowerMatMulInteger,
	"ConvInteger": lowerConvInteger, "QLinearMatMul": lowerQLinearMatMul, "QLinearConv": lowerQLinearConv,
	"RNN": lowerRNN, "GRU": lowerGRU, "LSTM": lowerLSTM, "Einsum": lowerEinsum, "CumSum": lowerCumSum,
	"CumProd": lowerCumProd, "EyeLike": lowerEyeLike, "IsNaN": lowerIsNaN, "IsInf": lowerIsInf,
	"DynamicQuantizeLinear": lowerDynamicQuantize, "DFT": lowerDFT, "STFT": lowerSTFT, "Shrink": lowerShrink, "ThresholdedRelu": lowerThresholdedRelu, "NonZero": lowerNonZero,
	"MaxPool": lowerMaxPool, "AveragePool": lowerAveragePool,
	"GlobalAveragePool": lowerGlobalAveragePool, "GlobalMaxPool": lowerGlobalMaxPool,
	"ReduceMean": reduction(graph.Mean), "ReduceSum": reduction(graph.Sum),
	"ReduceMax": along((*graph.Builder).ReduceMax), "ReduceMin": along((*graph.Builder).ReduceMin),
	"ReduceProd": along((*graph.Builder).ReduceProd), "ReduceLogSumExp": along((*graph.Builder).ReduceLogSumExp),
	"ReduceLogSum": lowerReduceLogSum, "ArgMax": lowerArgMax, "ArgMin": lowerArgMin, "TopK": lowerTopK,
	"OneHot": lowerOneHot, "Hardmax": softmax((*graph.Builder).Hardmax),
	"ReduceL1": lowerReduceL1, "ReduceL2": lowerReduceL2, "ReduceSumSquare": lowerReduceSumSquare,
	"NegativeLogLikelihoodLoss": lowerNLL, "SoftmaxCrossEntropyLoss": lowerCrossEntropy,
	"Softmax": softmax((*graph.Builder).Softmax), "LogSoftmax": softmax((*graph.Builder).LogSoftmax),

	"Reshape": lowerReshape, "Flatten": lowerFlatten, "Squeeze": lowerSqueeze, "Unsqueeze": lowerUnsqueeze,
	"Attention": lowerAttention, "RotaryEmbedding": lowerRotary, "SimplifiedLayerNormalization": lowerSimplifiedLayerNorm,
	"Trilu": lowerTrilu, "SwiGLU": lowerSwiGLU, "CausalConvWithState": lowerCausalConv, "LinearAttention": lowerLinearAttention,

	"Transpose": lowerTranspose, "Slice": lowerSlice, "Split": lowerSplit, "Gather": lowerGather, "Pad": lowerPad,
	"GatherElements": lowerGatherElements, "GatherND": lowerGatherND, "ScatterElements": lowerScatterElements,
	"Scatter": lowerScatterElements, "ScatterND": lowerScatterND, "Compress": lowerCompress,
	"ReverseSequence": lowerReverseSequence, "DepthToSpace": lowerDepthToSpace, "SpaceToDepth": lowerSpaceToDepth,
	"GridSample": lowerGridSample, "AffineGrid": lowerAffineGrid, "DeformConv": lowerDeformConv, "RoiAlign": lowerRoiAlign,
	"CenterCropPad": lowerCenterCropPad, "Col2Im": lowerCol2Im, "MaxUnpool": lowerMaxUnpool, "TensorScatter": lowerTensorScatter,
	"Resize": lowerResize, "Upsample": lowerResize,
	"Concat": lowerConcat, "Expand": lowerExpand, "Tile": lowerTile,
	"Identity": lowerIdentity, "Dropout": lowerDropout,

	"Affine": lowerAffine, "ScaledTanh": lowerScaledTanh, "ParametricSoftplus": lowerParametricSoftplus,
	"ImageScaler": lowerImageScaler, "Crop": lowerCrop,

	"Constant": lowerConstant, "ConstantOfShape": lowerConstantOfShape, "Range": lowerRange,
	"Shape": lowerShape, "Size": lowerSize,
	"HannWindow": windowed(0.5, -0.5), "HammingWindow": windowed(25./46, -21./46), "BlackmanWindow": windowed(0.42, -0.5, 0.08),
	"MelWeightMatrix": lowerMelWeightMatrix,
}
