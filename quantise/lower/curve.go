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
	// at returns the value for any number. It may be NaN; the table then has 0.
	at func(float64) float64
	// inside reports whether the function is defined at x. Where it is not, at may return a stand-in, such as the
	// value at the nearer end of the domain. nil: the function is defined wherever at is not NaN.
	inside func(x float64) bool
	// key identifies the curve: two curves with the same key are the same.
	key string
	// piecewise is the function as a clamp, maybe of the magnitude; nil if it is none.
	piecewise *fixed.Piecewise
}

// value is the function at x, 0 where that is NaN, and whether it is defined there.
func (f curve) value(x float64) (y float64, inside bool) {
	if y = f.at(x); math.IsNaN(y) {
		return 0, false
	}
	return y, f.defined(x)
}

// defined reports whether the function is defined at x, given that at(x) is not NaN.
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

// both is op(f(x), g(x)). key identifies op.
func both(f, g curve, key string, op func(a, b float64) float64) curve {
	return curve{
		at:     func(x float64) float64 { return op(f.at(x), g.at(x)) },
		inside: func(x float64) bool { return f.defined(x) && g.defined(x) },
		key:    key + "(" + f.key + ", " + g.key + ")",
	}
}

// samples are the values of a function at the keys of a table, 0 in place of NaN, and whether the function is
// defined at each key.
type samples struct {
	at     []float64
	inside []bool
}

// sampled returns the values of f at the arguments x(0) to x(n−1).
func (f curve) sampled(n int64, x func(key int64) float64) samples {
	s := samples{make([]float64, n), make([]bool, n)}
	parallel.For(len(s.at), 1<<10, func(from, to int) {
		for i := from; i < to; i++ {
			s.at[i], s.inside[i] = f.value(x(int64(i)))
		}
	})
	return s
}

// column rounds the values to the scale frac and clamps them to ±top. Rows where the function is not
// defined, or that are clamped, are marked as saturated.
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

// keyWithin is the key of a function that is clamped to ±end. key identifies the function without the clamp, and
// largest returns the largest magnitude of its values. If that is within ±end, nothing is clamped and the key is the
// given one, whatever end is.
func (l *lowering) keyWithin(key string, end float64, largest func() float64) string {
	if l.memory.most.Of(key, largest) <= end {
		return key
	}
	return keyOf(key, end)
}
