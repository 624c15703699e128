package onnx

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// reader turns the graph of a file into one in normal form, node by node in topological
// order. Another reader reads the body of a node (see inline).
type reader struct {
	*graph.Builder
	file    *fileGraph
	opset   int
	values  map[string]graph.Value // by their names in the file; results of failed nodes are absent or zero
	nested  bool                   // this is the body of a node, whose names hold only there
	types   map[string]graph.DType // the types that the file states for values; the graph itself has no narrower floats
	narrows *narrows
	texts   *texts // nil in the body of a node
	// sequences has the values of the file that are lists of tensors. Their names are not in
	// values.
	sequences map[string]*sequence
}

// lower turns the file's graph into normal form.
func lower(f *fileGraph, opset int, opts Options) (*graph.Graph, error) {
	f.inner.written = 0
	var inputs []graph.Input
	r := &reader{Builder: graph.NewBuilder(f.name), file: f, opset: opset, narrows: &narrows{round: opts.typed},
		values: map[string]graph.Value{}, types: map[string]graph.DType{}, texts: newTexts(), sequences: map[string]*sequence{}}
	if opts.Memory > 0 {
		r.Limit(opts.Memory)
	}
	err := refuse.Caught(func() {
		must.OK(f.sizePictures(opts))
		inputs = inputValues(f.inputs, opts)
		r.reserveNames()
		for _, v := range inputs {
			if v.DType == stringType || v.DType == fileType {
				r.texts.input(v)
				continue
			}
			r.types[v.Name] = v.DType
			r.values[v.Name] = r.ExtendedInput(v.Name, v.DType, v.Numbers, v.Shape, v.Symbols...)
		}
		r.decodeInitializers()
	})
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
		if r.sequences[out] != nil {
			return nil, fmt.Errorf("output %s is a sequence, and a proof is of tensors: choose others (--output), or join them in the model", graph.Quote(out))
		}
		if r.texts.known(out) {
			r.At("", out)
			r.Failf("%v", errNoNumbers)
		}
		r.Output(out, r.values[out])
	}
	g, err := r.Graph()
	if err == nil {
		g.Vocabulary, err = r.texts.vocabulary(inputs, f.outputs)
	}
	if err == nil && r.narrows.some && !opts.typed {
		rounded := rebound(inputs, nil, opts.Memory)
		rounded.typed = true
		g.Typed = func() (*graph.Graph, error) { return lower(f, opset, rounded) }
	}
	if err == nil && !opts.again {
		g.Rebind = func(sizes map[string]int) (*graph.Graph, error) {
			return lower(f, opset, rebound(inputs, sizes, opts.Memory))
		}
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

// decodeInitializers adds the initializers and fixed inputs as constants. It decodes them
// once; all graphs of a file share the tensors.
func (r *reader) decodeInitializers() {
	if r.file.constants == nil {
		r.file.constants = map[string]*graph.Tensor{}
		r.file.eachInitializer(func(name string, p *onnxpb.TensorProto) {
			if !isStrings(p) {
				r.file.constants[name] = decode(p, r.file.source.external)
			}
		})
	}
	r.file.eachInitializer(func(name string, p *onnxpb.TensorProto) {
		if isStrings(p) {
			r.texts.words[name] = decodeStrings(p)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(r.file.constants)) {
		r.values[name] = r.Constant(name, r.narrows.exact(r.file.constants[name], r.file.initializers[name]))
		r.types[name] = r.file.constants[name].DType
	}
	for _, name := range slices.Sorted(maps.Keys(r.file.fixed)) {
		r.values[name] = r.Constant(name, r.file.fixed[name])
	}
}

// eachInitializer calls read for each initializer, in the order of their names.
func (f *fileGraph) eachInitializer(read func(name string, p *onnxpb.TensorProto)) {
	for _, name := range slices.Sorted(maps.Keys(f.initializers)) {
		refuse.Within("initializer "+graph.Quote(name), func() { read(name, f.initializers[name]) })
	}
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

// unknownOperator says why a node's operator is not understood; it returns "" if it is.
func (f *fileGraph) unknownOperator(n *onnxpb.NodeProto) string {
	if f.functions[[2]string{n.GetDomain(), n.GetOpType()}] {
		return "is a function of the model; inline functions before export"
	}
	if d := n.GetDomain(); !standardDomain(d) && d != microsoft && d != classical && d != preview && d != training {
		return "operators of this domain are not supported"
	}
	if loweringOf(n).build == nil {
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
	for i, in := range reads(n) {
		if r.texts.known(in) && i >= len(n.Input) {
			r.Failf("reads %s, strings, in a body, which is not supported", graph.Quote(in))
			return
		}
		if in != "" && !r.Valid(r.values[in]) && !r.texts.known(in) && r.sequences[in] == nil {
			return
		}
	}
	o := &op{reader: r, proto: n, attrs: map[string]*onnxpb.AttributeProto{}}
	err := refuse.Caught(o.lower)
	if err != nil && err != errNoted {
		r.Failf("%v", err)
	}
	if err != nil || r.Failed() {
		for _, out := range n.Output {
			delete(r.values, out)
		}
	}
}

// lowering says how the reader understands an operator: how many inputs a node may have, and the
// function that builds its operations.
type lowering struct {
	least, most int
	build       func(*op)
}

// many is the value of most for an operator that takes any number of inputs.
const many = math.MaxInt

// loweringOf returns the lowering of a node's operator. Its build is nil if the operator is not
// understood. A function of one number needs no entry in the table: it is found by its name in
// package graph.
func loweringOf(n *onnxpb.NodeProto) lowering {
	operator := n.GetOpType()
	switch n.GetDomain() {
	case microsoft:
		return microsoftLowerings[operator]
	case classical:
		return classicalLowerings[operator]
	case preview:
		if operator == "FlexAttention" {
			return lowering{3, 3, lowerFlexAttention}
		}
		return lowering{}
	case training:
		return trainingLowerings[operator]
	}
	if l, ok := lowerings[operator]; ok {
		return l
	}
	if f := graph.FunctionNamed(operator); f != nil && f != graph.Trunc { // ONNX has no operator Trunc
		return lowering{1, 1, func(o *op) { lowerFunction(o, f) }}
	}
	return lowering{}
}

// arithmetic has the operators whose integer results may exceed the range of their
// operands' type. (A quotient does so in one case, −2^(n−1)/−1.)
var arithmetic = map[string]bool{
	"Add": true, "Sub": true, "Mul": true, "Div": true, "Pow": true, "Sum": true, "Neg": true, "Abs": true,
	"MatMul": true, "Gemm": true, "Einsum": true, "MatMulInteger": true, "ConvInteger": true, "Conv": true, "Det": true,
	"CumSum": true, "CumProd": true, "ReduceSum": true, "ReduceProd": true, "ReduceSumSquare": true, "ReduceL1": true,
}

// preview is the domain of operators that may become part of the ONNX standard.
const preview = "ai.onnx.preview"

// lowerings has the operators that are not functions of one number, or that have
// inputs or attributes besides a function's parameters. Some are supported on
// constants only.
var lowerings = map[string]lowering{
	"Add": {2, 2, twoInputs((*graph.Builder).Add)}, "Sub": {2, 2, twoInputs((*graph.Builder).Sub)},
	"Mul": {2, 2, twoInputs((*graph.Builder).Mul)}, "Div": {2, 2, lowerDiv},
	"Sum": {1, many, chained((*graph.Builder).Add)}, "Mean": {1, many, lowerMean},
	"Min": {1, many, chained((*graph.Builder).Min)}, "Max": {1, many, chained((*graph.Builder).Max)},
	"Pow":   {2, 2, twoInputs((*graph.Builder).Pow)},
	"Mod":   {2, 2, computed(func(o *op) graph.Value { return o.Mod(o.in(0), o.in(1), o.flagAttr("fmod", false)) })},
	"PRelu": {2, 2, twoInputs((*graph.Builder).PRelu)},
	"Equal": {2, 2, comparison(graph.Equal)}, "Less": {2, 2, comparison(graph.Less)},
	"LessOrEqual": {2, 2, comparison(graph.LessOrEqual)},
	"Greater":     {2, 2, comparison(graph.Greater)}, "GreaterOrEqual": {2, 2, comparison(graph.GreaterOrEqual)},
	"And": {2, 2, comparison(graph.And)}, "Or": {2, 2, comparison(graph.Or)}, "Xor": {2, 2, comparison(graph.Xor)},
	"Not":        {1, 1, oneInput((*graph.Builder).Not)},
	"Sign":       {1, 1, oneInput((*graph.Builder).Sign)},
	"BitwiseAnd": {2, 2, bitwise(graph.And)}, "BitwiseOr": {2, 2, bitwise(graph.Or)}, "BitwiseXor": {2, 2, bitwise(graph.Xor)},
	"BitwiseNot":         {1, 1, oneInput((*graph.Builder).BitwiseNot)},
	"BitShift":           {2, 2, lowerBitShift},
	"BitCast":            {1, 1, computed(func(o *op) graph.Value { return o.BitCast(o.in(0), graph.DType(o.intAttr("to", 0))) })},
	"Det":                {1, 1, lowerDet},
	"OptionalHasElement": {0, 1, computed(func(o *op) graph.Value { return o.truths([]int{}, func(int) bool { return o.has(0) }) })},
	"OptionalGetElement": {1, 1, computed(first)},
	"Where":              {3, 3, computed(func(o *op) graph.Value { return o.Where(o.in(0), o.in(1), o.in(2)) })},
	"Gelu":               {1, 1, lowerGelu}, "Clip": {1, 3, lowerClip}, "Cast": {1, 1, lowerCast},
	"CastLike": {2, 2, lowerCastLike},

	"Gemm": {2, 3, lowerGemm}, "MatMul": {2, 2, twoInputs((*graph.Builder).MatMul)}, "Conv": {2, 3, lowerConv},
	"BatchNormalization": {5, 5, lowerBatchNorm}, "LayerNormalization": {2, 3, lowerLayerNorm},
	"RMSNormalization": {2, 2, lowerRMSNorm}, "LpNormalization": {1, 1, lowerLpNorm},
	"ConvTranspose": {2, 3, lowerConvTranspose}, "LpPool": {1, 1, lowerLpPool}, "GlobalLpPool": {1, 1, lowerGlobalLpPool},
	"InstanceNormalization": {3, 3, lowerInstanceNorm}, "GroupNormalization": {3, 3, lowerGroupNorm},
	"MeanVarianceNormalization": {1, 1, lowerMVN}, "LRN": {1, 1, lowerLRN},
	"QuantizeLinear": {2, 3, lowerQuantizeLinear}, "DequantizeLinear": {2, 3, lowerDequantizeLinear},
	"MatMulInteger": {2, 4, lowerMatMulInteger},
	"ConvInteger":   {2, 4, lowerConvInteger}, "QLinearMatMul": {8, 8, lowerQLinearMatMul}, "QLinearConv": {8, 9, lowerQLinearConv},
	"RNN": {3, 6, lowerRNN}, "GRU": {3, 6, lowerGRU}, "LSTM": {3, 8, lowerLSTM}, "Einsum": {0, many, lowerEinsum},
	"CumSum":  {2, 2, lowerCumSum},
	"CumProd": {2, 2, lowerCumProd}, "EyeLike": {1, 1, lowerEyeLike}, "IsNaN": {1, 1, oneInput((*graph.Builder).IsNaN)},
	"IsInf": {1, 1, computed(func(o *op) graph.Value {
		return o.IsInf(o.in(0), o.flagAttr("detect_positive", true), o.flagAttr("detect_negative", true))
	})},
	"DynamicQuantizeLinear": {1, 1, lowerDynamicQuantize}, "DFT": {1, 3, lowerDFT}, "STFT": {2, 4, lowerSTFT},
	"Shrink": {1, 1, lowerShrink}, "ThresholdedRelu": {1, 1, lowerThresholdedRelu}, "NonZero": {1, 1, lowerNonZero},
	"MaxPool": {1, 1, lowerMaxPool}, "AveragePool": {1, 1, lowerAveragePool},
	"GlobalAveragePool": {1, 1, lowerGlobalAveragePool}, "GlobalMaxPool": {1, 1, lowerGlobalMaxPool},
	"ReduceMean": {1, 2, along(mean)}, "ReduceSum": {1, 2, along(summed(nil, nil))},
	"ReduceMax": {1, 2, along((*graph.Builder).ReduceMax)}, "ReduceMin": {1, 2, along((*graph.Builder).ReduceMin)},
	"ReduceProd": {1, 2, along((*graph.Builder).ReduceProd)}, "ReduceLogSumExp": {1, 2, along((*graph.Builder).ReduceLogSumExp)},
	"ReduceLogSum": {1, 2, along(summed(nil, logarithm))},
	"ArgMax":       {1, 1, func(o *op) { o.argMax(o.in(0)) }},
	"ArgMin":       {1, 1, func(o *op) { o.argMax(o.Negative(o.in(0))) }},
	"TopK":         {1, 2, lowerTopK},
	"OneHot":       {3, 3, lowerOneHot}, "Hardmax": {1, 1, softmax((*graph.Builder).Hardmax)},
	"ReduceL1": {1, 2, along(summed(absolute, nil))}, "ReduceL2": {1, 2, along(summed(squared, root))},
	"ReduceSumSquare":           {1, 2, along(summed(squared, nil))},
	"NegativeLogLikelihoodLoss": {2, 3, computed(func(o *op) graph.Value { return o.loss(o.in(0)) })},
	"SoftmaxCrossEntropyLoss":   {2, 3, lowerCrossEntropy},
	"Softmax":                   {1, 1, softmax((*graph.Builder).Softmax)}, "LogSoftmax": {1, 1, softmax((*graph.Builder).LogSoftmax)},

	"Reshape": {1, 2, lowerReshape}, "Flatten": {1, 1, lowerFlatten}, "Squeeze": {1, 2, lowerSqueeze},
	"Unsqueeze": {1, 2, lowerUnsqueeze},
	"Attention": {3, 7, lowerAttention}, "RotaryEmbedding": {3, 4, lowerRotary},
	"SimplifiedLayerNormalization": {2, 2, lowerRMSNorm},
	"Trilu":                        {1, 2, lowerTrilu}, "CausalConvWithState": {2, 4, lowerCausalConv},
	"SwiGLU": {2, 2, computed(func(o *op) graph.Value {
		return o.Mul(o.Apply(graph.Swish, o.in(0), o.floatAttr("alpha", 1)), o.in(1))
	})},
	"LinearAttention": {3, 6, lowerLinearAttention},

	"Transpose": {1, 1, lowerTranspose}, "Slice": {1, 5, lowerSlice}, "Split": {1, 2, lowerSplit}, "Gather": {2, 2, lowerGather},
	"Pad":            {1, 4, lowerPad},
	"GatherElements": {2, 2, lowerGatherElements}, "GatherND": {2, 2, lowerGatherND}, "ScatterElements": {3, 3, lowerScatterElements},
	"Scatter": {3, 3, lowerScatterElements}, "ScatterND": {3, 3, lowerScatterND}, "Compress": {2, 2, lowerCompress},
	"ReverseSequence": {2, 2, lowerReverseSequence}, "DepthToSpace": {1, 1, lowerDepthToSpace}, "SpaceToDepth": {1, 1, lowerSpaceToDepth},
	"GridSample": {2, 2, lowerGridSample}, "AffineGrid": {2, 2, lowerAffineGrid}, "DeformConv": {3, 5, lowerDeformConv},
	"RoiAlign":      {3, 3, lowerRoiAlign},
	"CenterCropPad": {2, 2, lowerCenterCropPad}, "Col2Im": {3, 3, lowerCol2Im}, "MaxUnpool": {2, 3, lowerMaxUnpool},
	"TensorScatter": {2, 3, lowerTensorScatter},
	"Resize":        {1, 4, lowerResize}, "Upsample": {1, 4, lowerResize},
	"Concat":   {1, many, lowerConcat},
	"Expand":   {2, 2, computed(func(o *op) graph.Value { return o.Expand(o.in(0), o.toShape(1, "the new shape")) })},
	"Tile":     {2, 3, lowerTile},
	"Identity": {1, 1, computed(first)}, "Dropout": {1, 3, lowerDropout},

	"Affine":     {1, 1, computed(func(o *op) graph.Value { return o.affine(o.in(0), o.floatAttr("alpha", 1), o.floatAttr("beta", 0)) })},
	"ScaledTanh": {1, 1, stretched(graph.Tanh)}, "ParametricSoftplus": {1, 1, stretched(graph.Softplus)},
	"ImageScaler": {1, 1, lowerImageScaler}, "Crop": {1, 1, lowerCrop},

	"Constant": {0, 0, lowerConstant}, "ConstantOfShape": {1, 1, lowerConstantOfShape}, "Range": {3, 3, lowerRange},
	"Shape":      {1, 1, lowerShape},
	"Size":       {1, 1, computed(func(o *op) graph.Value { return o.wholeNumber(graph.Size(o.shape(o.in(0)))) })},
	"HannWindow": {1, 1, windowed(0.5, -0.5)}, "HammingWindow": {1, 1, windowed(25./46, -21./46)},
	"BlackmanWindow":  {1, 1, windowed(0.42, -0.5, 0.08)},
	"MelWeightMatrix": {5, 5, lowerMelWeightMatrix},

	"StringNormalizer": {1, 1, ofStrings}, "StringConcat": {2, 2, ofStrings}, "StringSplit": {1, 1, ofStrings},
	"RegexFullMatch": {1, 1, ofStrings},
	"Bernoulli":      {1, 1, lowerRandom}, "Multinomial": {1, 1, lowerRandom}, "RandomNormal": {0, 0, lowerRandom},
	"RandomUniform":    {0, 0, lowerRandom},
	"RandomNormalLike": {1, 1, lowerRandom}, "RandomUniformLike": {1, 1, lowerRandom}, "ImageDecoder": {1, 1, lowerPicture},

	"SequenceEmpty":     {0, 0, lowerSequenceEmpty},
	"SequenceConstruct": {1, many, func(o *op) { o.sequenceResult(o.inputs(0)) }},
	"SequenceInsert":    {2, 3, lowerSequenceInsert}, "SequenceErase": {1, 2, lowerSequenceErase}, "SequenceAt": {2, 2, lowerSequenceAt},
	"SequenceLength":     {1, 1, computed(func(o *op) graph.Value { return o.wholeNumber(len(o.sequence(0))) })},
	"SplitToSequence":    {1, 2, lowerSplitToSequence},
	"ConcatFromSequence": {1, 1, lowerConcatFromSequence},
	"TfIdfVectorizer":    {1, 1, lowerNgrams}, "Unique": {1, 1, lowerUnique}, "NonMaxSuppression": {2, 5, lowerSuppression},
}
