package graph

import (
	"math"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Scalar applies a function of one number to every element of its operand.
type Scalar struct {
	Func   *Function
	Params []float64 // one for each of Func.Params
}

// Function is a function of one number. The functions that exist are the variables of
// type *Function of this package, with one entry each. A new one needs nothing but its
// entry: the ONNX reader finds it by its name, the float model runs its formula, and the
// quantiser makes a table of it.
type Function struct {
	Name   string // as in ONNX
	Params []Param
	// Formula is the function with its parameters. Exactly one of Formula and
	// Clamp is set.
	Formula func(x float64, params []float64) float64
	// Clamp returns the function, if it is a clamp. A proof computes a clamp without a table
	// of its own.
	Clamp func(params []float64) Clamp
	// Domain says where the formula is defined, and what replaces it elsewhere. The zero
	// Domain is the whole line. If the formula gives NaN even in the domain, 0 replaces it.
	Domain Domain
	// Ints is the function on integers. If it is nil, the function accepts only
	// floats. (A clamp accepts both.)
	Ints func(int64) int64
	// Jumps marks a function that is discontinuous. A small rounding error of its argument
	// could change the result much, so the function serves only to fold constants.
	Jumps bool
}

// Param is a parameter of a function: the name of its attribute in ONNX, and the value
// that it has if the attribute is absent.
type Param struct {
	Name    string
	Default float64
}

// Domain is the closed interval [Lo, Hi], or the whole line if both are equal. Outside of
// it the float model gives NaN, and Quantise refuses samples that lead there. A proved
// run has a defined value there, and counts such elements.
type Domain struct {
	Lo, Hi float64
	Beyond Beyond
}

// Beyond says what replaces a function outside of its domain.
type Beyond uint8

const (
	// Hold replaces the argument by the nearer end of the domain.
	Hold Beyond = iota
	// Zero replaces the result by 0.
	Zero
)

// Contains says whether x is in the domain.
func (d Domain) Contains(x float64) bool { return d.Lo == d.Hi || x >= d.Lo && x <= d.Hi }

// Clamp is the function min(max(x, Lo), Hi), or min(max(|x|, Lo), Hi) if Abs is set.
type Clamp struct {
	Abs    bool
	Lo, Hi float64 // may be infinite
}

// At applies the clamp.
func (c Clamp) At(x float64) float64 {
	if c.Abs {
		x = math.Abs(x)
	}
	return min(max(x, c.Lo), c.Hi)
}

// ints is At for an integer. Lo and Hi are rounded towards zero.
func (c Clamp) ints(a int64) int64 {
	if c.Abs {
		a = max(a, -a)
	}
	switch {
	case float64(a) < c.Lo:
		return whole(c.Lo)
	case float64(a) > c.Hi:
		return whole(c.Hi)
	}
	return a
}

// whole returns x rounded towards zero and clamped to the range of int64, and 0 for NaN.
// A plain conversion of numbers beyond that range gives results that depend on the
// machine.
func whole(x float64) int64 {
	switch {
	case x >= 1<<63:
		return math.MaxInt64
	case x >= -(1 << 63):
		return int64(x)
	case x < 0:
		return math.MinInt64
	}
	return 0 // NaN
}

// functions has all functions by name.
var functions = map[string]*Function{}

// define registers a function.
func define(f Function) *Function {
	if functions[f.Name] != nil || (f.Formula == nil) == (f.Clamp == nil) {
		panic("graph: function " + f.Name + " is not well defined")
	}
	functions[f.Name] = &f
	return &f
}

// FunctionNamed returns the function of that name in ONNX, or nil.
func FunctionNamed(name string) *Function { return functions[name] }

// GoString names the function, so that a graph prints as the same text in every
// process.
func (f *Function) GoString() string { return "graph." + f.Name }

// Of returns the function that s applies, parameters included. The function gives NaN or
// an infinity where it is not defined.
func (s Scalar) Of() func(float64) float64 {
	if s.Func.Clamp != nil {
		return s.Func.Clamp(s.Params).At
	}
	return func(x float64) float64 { return s.Func.Formula(x, s.Params) }
}

func (s Scalar) kind() string { return s.Func.Name }

func (s Scalar) constantsOnly() bool { return s.Func.Jumps }

func (s Scalar) infer(in []operandType) operandType {
	refuse.If(len(s.Params) != len(s.Func.Params), "%d parameters; %d are expected", len(s.Params), len(s.Func.Params))
	for i, p := range s.Params {
		refuse.If(math.IsNaN(p) || math.IsInf(p, 0) && s.Func.Clamp == nil, "%s is %v", s.Func.Params[i].Name, p)
	}
	x := in[0]
	refuse.If(!x.dtype.IsFloat() && s.Func.Ints == nil && s.Func.Clamp == nil, "its input has type %v", x.dtype)
	return operandType{shape: in[0].shape, dtype: in[0].dtype}
}

func (s Scalar) eval(in []operand, shape []int) operand {
	switch {
	case in[0].i == nil:
		return operand{shape: shape, f: apply(in[0].float64s(), s.Of())}
	case s.Func.Clamp != nil:
		return operand{shape: shape, i: apply(in[0].i, s.Func.Clamp(s.Params).ints)}
	}
	return operand{shape: shape, i: apply(in[0].i, s.Func.Ints)}
}

// Apply applies a function with its parameters, or with their defaults if none
// are given.
func (b *Builder) Apply(f *Function, x Value, params ...float64) Value {
	if len(params) == 0 {
		for _, p := range f.Params {
			params = append(params, p.Default)
		}
	}
	if f == Floor || f == Ceil || f == Trunc {
		x = b.wholeOf(x)
	}
	if other := jumpsIn[b.float][f]; other != nil {
		f = other
	}
	if f == Log && b.valid(x) {
		if y, ok := b.logSum(x); ok {
			return y
		}
	}
	return b.emit(Scalar{f, params}, x)
}

// Clip is min(max(x, lo), hi). An infinite bound leaves its side open. If lo is above hi,
// the result is hi.
func (b *Builder) Clip(x Value, lo, hi float64) Value {
	lo = min(lo, hi)
	switch {
	case math.IsInf(lo, -1) && math.IsInf(hi, 1):
		return x
	case lo == 0 && math.IsInf(hi, 1):
		return b.Apply(Relu, x)
	}
	return b.Apply(Clip, x, lo, hi)
}
