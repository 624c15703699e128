package onnx

import (
	"errors"
	"fmt"
	"math"
)

// evaluate computes a node whose output has the given shape. Integer operands
// are computed as integers, all others in float64.
func evaluate(n *Node, in []operand, shape []int) (operand, error) {
	out := operand{shape: shape}
	switch n.Op {
	case "Reshape", "Identity":
		out.f, out.w, out.i = in[0].f, in[0].w, in[0].i
		return out, nil
	case "Transpose", "Slice", "Gather", "Pad", "Expand", "Tile":
		return evalMove(n, in[0], shape), nil
	case "Concat":
		return evalConcat(in, shape, n.Int("axis")), nil
	case "Where":
		return evalWhere(in, shape), nil
	case "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor":
		return evalComparison(n.Op, in, shape), nil
	case "Not":
		out.i = make([]int64, len(in[0].i))
		for i, v := range in[0].i {
			out.i[i] = 1 - min(v, 1)
		}
		return out, nil
	}
	integer := true
	for _, v := range in {
		integer = integer && v.i != nil
	}
	if integer {
		return evalInt(n, in, shape)
	}
	switch n.Op {
	case "Gemm":
		out.f = evalGemm(n, in, shape)
	case "MatMul":
		out.f = evalMatMul(in, shape)
	case "Conv":
		out.f = evalConv(n, in, shape)
	case "BatchNormalization":
		out.f = evalBatchNorm(in, shape)
	case "MaxPool":
		out.f = evalMaxPool(n, in[0], shape)
	case "AveragePool":
		out.f = evalAveragePool(n, in[0], shape)
	case "Softmax":
		out.f = evalSoftmax(in[0])
	case "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd":
		out.f = evalReduce(n, in[0].float64s(), in[0].shape, shape, floatReductions)
	default:
		if f := n.Scalar(); f != nil {
			out.f = apply(in[0].float64s(), f)
		} else if f := floatBinary[n.Op]; f != nil {
			out.f = zipWith(in[0].float64s(), in[1].float64s(), in[0].shape, in[1].shape, shape, f)
		} else {
			return out, fmt.Errorf("%s has no evaluation on floats", n.Op)
		}
	}
	return out, nil
}

// floatBinary holds the functions of two numbers.
var floatBinary = map[string]func(a, b float64) float64{
	"Add":   func(a, b float64) float64 { return a + b },
	"Sub":   func(a, b float64) float64 { return a - b },
	"Mul":   func(a, b float64) float64 { return a * b },
	"Div":   func(a, b float64) float64 { return a / b },
	"Min":   func(a, b float64) float64 { return min(a, b) },
	"Max":   func(a, b float64) float64 { return max(a, b) },
	"Power": math.Pow,
	"Fmod":  math.Mod,
	"PRelu": func(x, slope float64) float64 {
		if x < 0 {
			return x * slope
		}
		return x
	},
}

var intBinary = map[string]func(a, b int64) int64{
	"Add":  func(a, b int64) int64 { return a + b },
	"Sub":  func(a, b int64) int64 { return a - b },
	"Mul":  func(a, b int64) int64 { return a * b },
	"Div":  func(a, b int64) int64 { return a / b },
	"Min":  func(a, b int64) int64 { return min(a, b) },
	"Max":  func(a, b int64) int64 { return max(a, b) },
	"Fmod": func(a, b int64) int64 { return a % b },
	"Mod": func(a, b int64) int64 { // the sign of the divisor
		if r := a % b; r != 0 && (r < 0) != (b < 0) {
			return r + b
		} else {
			return r
		}
	},
}

var intUnary = map[string]func(a int64) int64{
	"Relu": func(a int64) int64 { return max(a, 0) },
	"Neg":  func(a int64) int64 { return -a },
	"Abs":  func(a int64) int64 { return max(a, -a) },
	"Sign": func(a int64) int64 { return int64(sign(float64(a))) },
}

// reducer combines elements: start, step, and what to do with the result of n.
type reducer[T number] struct {
	start T
	step  func(a, b T) T
	end   func(a T, n int) T // nil for none
}

var floatReductions = map[string]reducer[float64]{
	"ReduceSum":  {0, func(a, b float64) float64 { return a + b }, nil},
	"ReduceMean": {0, func(a, b float64) float64 { return a + b }, func(a float64, n int) float64 { return a / float64(n) }},
	"ReduceMax":  {math.Inf(-1), func(a, b float64) float64 { return max(a, b) }, nil},
	"ReduceMin":  {math.Inf(1), func(a, b float64) float64 { return min(a, b) }, nil},
	"ReduceProd": {1, func(a, b float64) float64 { return a * b }, nil},
}

var intReductions = map[string]reducer[int64]{
	"ReduceSum":  {0, func(a, b int64) int64 { return a + b }, nil},
	"ReduceMax":  {math.MinInt64, func(a, b int64) int64 { return max(a, b) }, nil},
	"ReduceMin":  {math.MaxInt64, func(a, b int64) int64 { return min(a, b) }, nil},
	"ReduceProd": {1, func(a, b int64) int64 { return a * b }, nil},
}

// evalInt computes a node of integer constants.
func evalInt(n *Node, in []operand, shape []int) (operand, error) {
	out := operand{shape: shape}
	if f := intUnary[n.Op]; f != nil {
		out.i = apply(in[0].i, f)
		return out, nil
	}
	if f := intBinary[n.Op]; f != nil {
		if n.Op == "Div" || n.Op == "Mod" || n.Op == "Fmod" {
			for _, v := range in[1].i {
				if v == 0 {
					return out, errors.New("division by zero")
				}
			}
		}
		out.i = zipWith(in[0].i, in[1].i, in[0].shape, in[1].shape, shape, f)
		return out, nil
	}
	if _, ok := intReductions[n.Op]; ok {
		out.i = evalReduce(n, in[0].i, in[0].shape, shape, intReductions)
		return out, nil
	}
	if n.Op == "Clip" {
		f := n.Scalar()
		out.i = apply(in[0].i, func(a int64) int64 { return int64(f(float64(a))) })
		return out, nil
	}
	return out, fmt.Errorf("%s has no evaluation on integers", n.Op)
}

// evalComparison computes an operator whose result is bool.
func evalComparison(kind string, in []operand, shape []int) operand {
	compare := map[string]func(a, b float64) bool{
		"Equal":          func(a, b float64) bool { return a == b },
		"Less":           func(a, b float64) bool { return a < b },
		"LessOrEqual":    func(a, b float64) bool { return a <= b },
		"Greater":        func(a, b float64) bool { return a > b },
		"GreaterOrEqual": func(a, b float64) bool { return a >= b },
		"And":            func(a, b float64) bool { return a != 0 && b != 0 },
		"Or":             func(a, b float64) bool { return a != 0 || b != 0 },
		"Xor":            func(a, b float64) bool { return (a != 0) != (b != 0) },
	}[kind]
	f := zipWith(in[0].float64s(), in[1].float64s(), in[0].shape, in[1].shape, shape, func(a, b float64) float64 {
		if compare(a, b) {
			return 1
		}
		return 0
	})
	return operand{shape: shape, i: convert[int64](f)}
}
