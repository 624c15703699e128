package lower

import "github.com/prove-model/prove-model/graph"

// curve is a real function of one number, as a table has it.
type curve struct {
	// at has a value on the whole line, or NaN, for which the table has 0.
	at func(float64) float64
	// inside says whether at is defined at x and nothing stands in for it; nil
	// where that is so unless at is NaN.
	inside func(x float64) bool
}

// curveOf is the function of an operator.
func curveOf(s graph.Scalar) curve {
	f, d := s.Of(), s.Func.Domain
	switch {
	case d == graph.Domain{}:
		return curve{at: f}
	case d.Beyond == graph.Hold:
		return curve{func(x float64) float64 { return f(min(max(x, d.Lo), d.Hi)) }, d.Contains}
	}
	return curve{f, d.Contains}
}

// then is g(f(x)) for a g that is defined everywhere.
func (f curve) then(g func(float64) float64) curve {
	return curve{func(x float64) float64 { return g(f.at(x)) }, f.inside}
}

// into is g(f(x)).
func (f curve) into(g curve) curve {
	out := f.then(g.at)
	if g.inside != nil {
		out.inside = func(x float64) bool { return (f.inside == nil || f.inside(x)) && g.inside(f.at(x)) }
	}
	return out
}

// both is op(f(x), g(x)).
func both(f, g curve, op func(a, b float64) float64) curve {
	out := curve{at: func(x float64) float64 { return op(f.at(x), g.at(x)) }}
	if f.inside != nil || g.inside != nil {
		out.inside = func(x float64) bool {
			return (f.inside == nil || f.inside(x)) && (g.inside == nil || g.inside(x))
		}
	}
	return out
}
