package onnx

// normal is the set of operators that a normal-form graph consists of.
var normal = map[string]bool{
	"Add": true, "Sub": true, "Mul": true, "Div": true,
	"PRelu": true, "Where": true,
	"Gemm": true, "MatMul": true, "Conv": true, "BatchNormalization": true,
	"MaxPool": true, "AveragePool": true,
	"ReduceMean": true, "ReduceSum": true, "Softmax": true,
	"Reshape": true, "Transpose": true, "Slice": true, "Gather": true, "Pad": true,
	"Concat": true, "Expand": true, "Tile": true, "Identity": true,
}

// lowerings holds, for each operator that a file may use, how it becomes
// normal form. Some are understood on constants only; emit sees to that.
var lowerings map[string]func(*op)

func init() {
	// Assigned here since lowerings refer to functions that look into it.
	lowerings = map[string]func(*op){
		"Add": arithmetic("Add"), "Sub": arithmetic("Sub"), "Mul": arithmetic("Mul"), "Div": lowerDiv,
		"Sum": lowerSum, "Mean": lowerMean, "Min": lowerMin, "Max": lowerMax, "Pow": lowerPow, "Mod": lowerMod,
		"Equal": comparison("Equal"), "Less": comparison("Less"), "LessOrEqual": comparison("LessOrEqual"),
		"Greater": comparison("Greater"), "GreaterOrEqual": comparison("GreaterOrEqual"),
		"And": comparison("And"), "Or": comparison("Or"), "Xor": comparison("Xor"), "Not": lowerNot,
		"Where": lowerWhere, "PRelu": lowerPRelu,

		"Relu": unary("Relu"), "Abs": unary("Abs"), "Neg": unary("Neg"),
		"Sigmoid": floatUnary("Sigmoid"), "Tanh": floatUnary("Tanh"), "Erf": floatUnary("Erf"),
		"Exp": floatUnary("Exp"), "Log": floatUnary("Log"), "Sqrt": floatUnary("Sqrt"),
		"Reciprocal": floatUnary("Reciprocal"), "Softplus": floatUnary("Softplus"),
		"Softsign": floatUnary("Softsign"), "Mish": floatUnary("Mish"), "HardSwish": floatUnary("HardSwish"),
		"Sin": floatUnary("Sin"), "Cos": floatUnary("Cos"),
		"Floor": floatUnary("Floor"), "Ceil": floatUnary("Ceil"), "Round": floatUnary("Round"), "Sign": unary("Sign"),
		"LeakyRelu":   floatUnary("LeakyRelu", param{"alpha", 0.01}),
		"Elu":         floatUnary("Elu", param{"alpha", 1}),
		"Celu":        floatUnary("Celu", param{"alpha", 1}),
		"Selu":        floatUnary("Selu", param{"alpha", 1.67326319217681884765625}, param{"gamma", 1.05070102214813232421875}),
		"HardSigmoid": floatUnary("HardSigmoid", param{"alpha", 0.2}, param{"beta", 0.5}),
		"Gelu":        lowerGelu, "Clip": lowerClip, "Cast": lowerCast,

		"Gemm": lowerGemm, "MatMul": lowerMatMul, "Conv": lowerConv,
		"BatchNormalization": lowerBatchNorm, "LayerNormalization": lowerLayerNorm,
		"MaxPool": lowerMaxPool, "AveragePool": lowerAveragePool,
		"GlobalAveragePool": lowerGlobalAveragePool, "GlobalMaxPool": lowerGlobalMaxPool,
		"ReduceMean": reduction("ReduceMean"), "ReduceSum": reduction("ReduceSum"),
		"ReduceMax": reduction("ReduceMax"), "ReduceMin": reduction("ReduceMin"), "ReduceProd": reduction("ReduceProd"),
		"ReduceL1": reduction("ReduceL1"), "ReduceL2": reduction("ReduceL2"), "ReduceSumSquare": reduction("ReduceSumSquare"),
		"Softmax": lowerSoftmax,

		"Reshape": lowerReshape, "Flatten": lowerFlatten, "Squeeze": lowerSqueeze, "Unsqueeze": lowerUnsqueeze,
		"Transpose": lowerTranspose, "Slice": lowerSlice, "Split": lowerSplit, "Gather": lowerGather, "Pad": lowerPad,
		"Concat": lowerConcat, "Expand": lowerExpand, "Tile": lowerTile,
		"Identity": lowerIdentity, "Dropout": lowerDropout,

		"Constant": lowerConstant, "ConstantOfShape": lowerConstantOfShape, "Range": lowerRange,
		"Shape": lowerShape, "Size": lowerSize,
	}
}
