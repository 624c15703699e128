package lower

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// curve is a real function of one number, as a table has it.
type curve struct {
	// at has a value on the whole line, or NaN, for which the table has 0.
	at func(float64) float64
	// inside says whether at is defined at x and nothing stands in for it; nil
	// where that is so unless at is NaN.
	inside func(x float64) bool
	// key tells the curve apart from others: those with one key are the same.
	key string
	// piecewise is the clamp that the function is, or nil.
	piecewise *fixed.Piecewise
}

// value is the function at x, 0 where that is NaN, and whether it is defined there.
func (f curve) value(x float64) (y float64, inside bool) {
	if y = f.at(x); math.IsNaN(y) {
		return 0, false
	}
	return y, f.defined(x)
}

// defined says whether the function is defined at x and nothing stands in for it, unless it is NaN there.
func (f curve) defined(x float64) bool { return f.inside == nil || f.inside(x) }

// keyOf is the key of a function with these parameters.
func keyOf(name string, params ...float64) string {
	for _, p := range params {
		name += fmt.Sprintf(" %x", math.Float64bits(p))
	}
	return name
}

// curveOf is the function of an operator.
func curveOf(s graph.Scalar) curve {
	f, d := s.Of(), s.Func.Domain
	c := curve{at: f, key: keyOf(s.Func.Name, s.Params...), piecewise: boundsOf(s)}
	if d != (graph.Domain{}) {
		c.inside = d.Contains
		if d.Beyond == graph.Hold {
			c.at = func(x float64) float64 { return f(min(max(x, d.Lo), d.Hi)) }
		}
	}
	return c
}

// then is g(f(x)).
func (f curve) then(g curve) curve {
	out := curve{at: func(x float64) float64 { return g.at(f.at(x)) }, inside: f.inside, key: g.key + "(" + f.key + ")"}
	if g.inside != nil {
		out.inside = func(x float64) bool { return f.defined(x) && g.inside(f.at(x)) }
	}
	return out
}

// both is op(f(x), g(x)), op having a key.
func both(f, g curve, key string, op func(a, b float64) float64) curve {
	return curve{
		at:     func(x float64) float64 { return op(f.at(x), g.at(x)) },
		inside: func(x float64) bool { return f.defined(x) && g.defined(x) },
		key:    key + "(" + f.key + ", " + g.key + ")",
	}
}

// samples are the values of a function at the keys of a table: 0 where it has none, and whether each
// key is inside of its domain.
type samples struct {
	at     []float64
	inside []bool
}

// sampled are the values of a function for n keys, of which x has the arguments.
func (f curve) sampled(n int64, x func(key int64) float64) samples {
	s := samples{make([]float64, n), make([]bool, n)}
	parallel.For(len(s.at), 1<<10, func(from, to int) {
		for i := from; i < to; i++ {
			s.at[i], s.inside[i] = f.value(x(int64(i)))
		}
	})
	return s
}

// column rounds the values to a scale, within ±top. Rows that are not inside of the function's
// domain, or are clamped, are saturated.
func (s samples) column(frac int, top int64) *fixed.Column {
	var saturated []model.Rows
	values := make([]int32, len(s.at))
	scale := fixed.Pow2(frac)
	for i, y := range s.at {
		y = math.Round(y * scale)
		if !s.inside[i] || math.Abs(y) > float64(top) {
			saturated = append(saturated, model.Rows{From: int64(i), To: int64(i) + 1})
		}
		values[i] = int32(max(-float64(top), min(float64(top), y)))
	}
	return fixed.NewColumn(values, frac, saturated)
}

// keyWithin is the key of a function that is kept within ±end: the one given, by which the function alone
// is known, unless it has values beyond that, of which largest finds the largest magnitude.
func (l *lowering) keyWithin(key string, end float64, largest func() float64) string {
	if l.memory.most.Of(key, largest) <= end {
		return key
	}
	return keyOf(key, end)
}
