package onnx

import "math"

// scalars holds the functions of one number, given the node's attributes. Those
// not in the normal form serve to fold constants.
var scalars = map[string]func(n *Node) func(float64) float64{
	"Relu":       plain(func(x float64) float64 { return max(x, 0) }),
	"Sigmoid":    plain(sigmoid),
	"Tanh":       plain(math.Tanh),
	"Erf":        plain(math.Erf),
	"Exp":        plain(math.Exp),
	"Log":        plain(math.Log),
	"Sqrt":       plain(math.Sqrt),
	"Reciprocal": plain(func(x float64) float64 { return 1 / x }),
	"Abs":        plain(math.Abs),
	"Neg":        plain(func(x float64) float64 { return -x }),
	"Softplus":   plain(softplus),
	"Softsign":   plain(func(x float64) float64 { return x / (1 + math.Abs(x)) }),
	"Mish":       plain(func(x float64) float64 { return x * math.Tanh(softplus(x)) }),
	"HardSwish":  plain(func(x float64) float64 { return x * max(0, min(1, x/6+0.5)) }),
	"Sin":        plain(math.Sin),
	"Cos":        plain(math.Cos),
	"Trunc":      plain(math.Trunc),
	"Floor":      plain(math.Floor),
	"Ceil":       plain(math.Ceil),
	"Round":      plain(math.RoundToEven),
	"Sign":       plain(sign),
	"LeakyRelu": func(n *Node) func(float64) float64 {
		alpha := n.Floats["alpha"]
		return func(x float64) float64 {
			if x < 0 {
				return alpha * x
			}
			return x
		}
	},
	"Elu": func(n *Node) func(float64) float64 {
		alpha := n.Floats["alpha"]
		return func(x float64) float64 {
			if x < 0 {
				return alpha * math.Expm1(x)
			}
			return x
		}
	},
	"Celu": func(n *Node) func(float64) float64 {
		alpha := n.Floats["alpha"]
		return func(x float64) float64 { return max(x, 0) + min(0, alpha*math.Expm1(x/alpha)) }
	},
	"Selu": func(n *Node) func(float64) float64 {
		alpha, gamma := n.Floats["alpha"], n.Floats["gamma"]
		return func(x float64) float64 {
			if x < 0 {
				return gamma * alpha * math.Expm1(x)
			}
			return gamma * x
		}
	},
	"HardSigmoid": func(n *Node) func(float64) float64 {
		alpha, beta := n.Floats["alpha"], n.Floats["beta"]
		return func(x float64) float64 { return max(0, min(1, alpha*x+beta)) }
	},
	"Gelu": func(n *Node) func(float64) float64 {
		if n.Strs["approximate"] == "tanh" {
			return func(x float64) float64 {
				return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
			}
		}
		return func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
	},
	"Clip": func(n *Node) func(float64) float64 {
		lo, hi := n.Floats["min"], n.Floats["max"]
		return func(x float64) float64 { return min(max(x, lo), hi) }
	},
	"Pow": func(n *Node) func(float64) float64 {
		e := n.Floats["exponent"]
		return func(x float64) float64 { return math.Pow(x, e) }
	},
}

// foldOnly are the functions with jumps at more than the odd place: a rounding
// error before them would not stay small, so they serve constants only.
var foldOnly = map[string]bool{"Floor": true, "Ceil": true, "Round": true, "Sign": true}

// Scalar returns the function that n applies to every element of its one
// input, or nil when n is not of that kind. The result may be NaN or infinite
// outside the function's domain.
func (n *Node) Scalar() func(float64) float64 {
	f := scalars[n.Op]
	if f == nil {
		return nil
	}
	return f(n)
}

// isNormal says whether kind may remain in a graph.
func isNormal(kind string) bool {
	return normal[kind] || scalars[kind] != nil && !foldOnly[kind]
}

// plain is a function without attributes.
func plain(f func(float64) float64) func(*Node) func(float64) float64 {
	return func(*Node) func(float64) float64 { return f }
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// softplus is log(1 + eˣ), computed so that eˣ does not overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
