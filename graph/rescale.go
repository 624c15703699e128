package graph

import (
	"math"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Rescale is x·Factor, rounded to the nearest whole number, for whole numbers x.
// Quantised models rescale sums of products in this way. A proof replaces the factor by a
// fraction that is far closer to it than a coefficient of a few bits could be.
type Rescale struct{ Factor float64 }

func (Rescale) takes() operands { return operands{1, 1, floats} }

func (r Rescale) infer(in []operandType) operandType {
	refuse.If(!(r.Factor > 0) || math.IsInf(r.Factor, 0), "its factor is %v", r.Factor)
	return in[0]
}

func (r Rescale) eval(in []operand, shape []int) operand {
	return operand{shape: shape, f: apply(in[0].float64s(), func(x float64) float64 { return math.RoundToEven(x * r.Factor) })}
}

// Rescale is x, of whole numbers, times a positive factor, rounded to whole numbers.
func (b *Builder) Rescale(x Value, factor float64) Value { return b.emit(Rescale{factor}, x) }
