package graph

import (
	"math"

	"github.com/prove-model/prove-model/internal/elementary"
)

// of makes the Formula of a function that has no parameters.
func of(f func(float64) float64) func(x float64, p []float64) float64 {
	return func(x float64, _ []float64) float64 { return f(x) }
}

// The functions of one number. A function needs nothing but its entry; a test checks that
// docs/operators.md names it. Formulas give the same bits on every machine. So they take
// functions for which package math does not guarantee the same bits from package
// elementary, and they convert products before adding (float64(a*b)+c); without the
// conversion a compiler may fuse the multiplication and the addition. Tests and
// scripts/lint.sh check this.
var (
	Relu = define(Function{Name: "Relu", Clamp: func([]float64) Clamp { return Clamp{Lo: 0, Hi: math.Inf(1)} }})
	Abs  = define(Function{Name: "Abs", Clamp: func([]float64) Clamp { return Clamp{Abs: true, Lo: 0, Hi: math.Inf(1)} }})
	Clip = define(Function{
		Name: "Clip", Params: []Param{{"min", math.Inf(-1)}, {"max", math.Inf(1)}},
		Clamp: func(p []float64) Clamp { return Clamp{Lo: p[0], Hi: p[1]} },
	})

	Neg        = define(Function{Name: "Neg", Formula: of(func(x float64) float64 { return -x }), Ints: func(a int64) int64 { return -a }})
	Reciprocal = define(Function{Name: "Reciprocal", Formula: of(func(x float64) float64 { return 1 / x })})
	Sqrt       = define(Function{Name: "Sqrt", Formula: of(math.Sqrt), Domain: Domain{0, math.Inf(1), Zero}})
	Exp        = define(Function{Name: "Exp", Formula: of(elementary.Exp)})
	Log        = define(Function{Name: "Log", Formula: of(elementary.Log), Domain: Domain{0, math.Inf(1), Zero}})
	Pow        = define(Function{
		Name: "Pow", Params: []Param{{"exponent", 1}},
		Formula: func(x float64, p []float64) float64 { return elementary.Pow(x, p[0]) },
	})

	Sin   = define(Function{Name: "Sin", Formula: of(elementary.Sin)})
	Cos   = define(Function{Name: "Cos", Formula: of(elementary.Cos)})
	Tan   = define(Function{Name: "Tan", Formula: of(elementary.Tan)})
	Asin  = define(Function{Name: "Asin", Formula: of(elementary.Asin), Domain: Domain{-1, 1, Hold}})
	Acos  = define(Function{Name: "Acos", Formula: of(elementary.Acos), Domain: Domain{-1, 1, Hold}})
	Atan  = define(Function{Name: "Atan", Formula: of(elementary.Atan)})
	Sinh  = define(Function{Name: "Sinh", Formula: of(elementary.Sinh)})
	Cosh  = define(Function{Name: "Cosh", Formula: of(elementary.Cosh)})
	Tanh  = define(Function{Name: "Tanh", Formula: of(elementary.Tanh)})
	Asinh = define(Function{Name: "Asinh", Formula: of(elementary.Asinh)})
	Acosh = define(Function{Name: "Acosh", Formula: of(elementary.Acosh), Domain: Domain{1, math.Inf(1), Hold}})
	Atanh = define(Function{Name: "Atanh", Formula: of(elementary.Atanh), Domain: Domain{-1, 1, Hold}})

	Erf      = define(Function{Name: "Erf", Formula: of(elementary.Erf)})
	Sigmoid  = define(Function{Name: "Sigmoid", Formula: of(func(x float64) float64 { return 1 / (1 + elementary.Exp(-x)) })})
	Softplus = define(Function{Name: "Softplus", Formula: of(softplus)})
	Softsign = define(Function{Name: "Softsign", Formula: of(func(x float64) float64 { return x / (1 + math.Abs(x)) })})
	Mish     = define(Function{Name: "Mish", Formula: of(func(x float64) float64 { return x * elementary.Tanh(softplus(x)) })})
	Swish    = define(Function{
		Name: "Swish", Params: []Param{{"alpha", 1}},
		Formula: func(x float64, p []float64) float64 { return x / (1 + elementary.Exp(-p[0]*x)) },
	})
	HardSwish = define(Function{Name: "HardSwish", Formula: of(func(x float64) float64 { return x * max(0, min(1, x/6+0.5)) })})

	HardSigmoid = define(Function{
		Name: "HardSigmoid", Params: []Param{{"alpha", 0.2}, {"beta", 0.5}},
		Formula: func(x float64, p []float64) float64 { return max(0, min(1, float64(p[0]*x)+p[1])) },
	})
	LeakyRelu = define(Function{
		Name: "LeakyRelu", Params: []Param{{"alpha", 0.01}},
		Formula: func(x float64, p []float64) float64 { return leaky(x, p[0]) },
	})
	Elu = define(Function{
		Name: "Elu", Params: []Param{{"alpha", 1}},
		Formula: func(x float64, p []float64) float64 {
			if x < 0 {
				return p[0] * elementary.Expm1(x)
			}
			return x
		},
	})
	Celu = define(Function{
		Name: "Celu", Params: []Param{{"alpha", 1}},
		Formula: func(x float64, p []float64) float64 {
			return max(x, 0) + min(0, float64(p[0]*elementary.Expm1(x/p[0])))
		},
	})
	Selu = define(Function{
		Name: "Selu", Params: []Param{{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}},
		Formula: func(x float64, p []float64) float64 {
			if x < 0 {
				return p[1] * p[0] * elementary.Expm1(x)
			}
			return p[1] * x
		},
	})
	// Gelu with tanh ≠ 0 is the approximation by a hyperbolic tangent.
	Gelu = define(Function{
		Name: "Gelu", Params: []Param{{"tanh", 0}},
		Formula: func(x float64, p []float64) float64 {
			if p[0] != 0 {
				return 0.5 * x * (1 + elementary.Tanh(math.Sqrt(2/math.Pi)*(x+float64(0.044715*x*x*x))))
			}
			return 0.5 * x * (1 + elementary.Erf(x/math.Sqrt2))
		},
	})

	// A cast of floats to an integer type is a Trunc and then a change of type; see
	// [Builder.Cast]. A proof applies Floor, Ceil, Round and Trunc to the operand's exact
	// value.
	Trunc = define(Function{Name: "Trunc", Formula: of(func(x float64) float64 { return math.Trunc(single(x)) })})
	Floor = define(Function{Name: "Floor", Formula: of(func(x float64) float64 { return math.Floor(single(x)) })})
	Ceil  = define(Function{Name: "Ceil", Formula: of(func(x float64) float64 { return math.Ceil(single(x)) })})
	Round = define(Function{Name: "Round", Formula: of(math.RoundToEven)})
	// Sign serves constants only; see [Builder.Sign].
	Sign = define(Function{
		Name: "Sign", Formula: of(sign), Jumps: true,
		Ints: func(a int64) int64 { return int64(sign(float64(a))) },
	})
)

// softplus is log(1 + eˣ), computed so that eˣ does not overflow.
func softplus(x float64) float64 { return max(x, 0) + elementary.Log1p(elementary.Exp(-math.Abs(x))) }

// leaky is x, scaled where it is negative.
func leaky(x, slope float64) float64 {
	if x < 0 {
		return x * slope
	}
	return x
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// jumpsIn has, for each type other than float32 that a model may compute in (see
// [Builder.Computes]), the functions that replace Trunc, Floor and Ceil.
var jumpsIn = map[DType]map[*Function]*Function{
	Double: jumping(func(x float64) float64 { return x }), Float16: jumping(halves[Float16].narrow), BFloat16: jumping(halves[BFloat16].narrow),
}

// jumping returns variants of Trunc, Floor and Ceil that first round their argument by
// round.
func jumping(round func(float64) float64) map[*Function]*Function {
	all := map[*Function]*Function{}
	for f, whole := range map[*Function]func(float64) float64{Trunc: math.Trunc, Floor: math.Floor, Ceil: math.Ceil} {
		all[f] = &Function{Name: f.Name, Formula: of(func(x float64) float64 { return whole(round(x)) })}
	}
	return all
}

// Single returns the function of which f is a variant for another type (see jumpsIn). Any other
// function is returned as it is.
func (f *Function) Single() *Function {
	for _, all := range jumpsIn {
		for single, other := range all {
			if f == other {
				return single
			}
		}
	}
	return f
}

// single is x rounded to float32, as the model computes it, before a function that jumps. In
// float32 tanh(10) is 1, for example, so its Floor is 1 and not 0. Numbers of at least 2^23
// stay as they are: they are whole, and may be integers that float32 does not hold.
func single(x float64) float64 {
	if math.Abs(x) >= 1<<23 {
		return x
	}
	return float64(float32(x))
}
