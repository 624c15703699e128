package quantise

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

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

// outside says at which keys the function of a lookup step is not defined, apart
// from those whose value is clamped: the two are counted together.
type outside struct {
	node  string
	step  int
	first int64 // key
	keys  []bool
}

// any says whether there are such keys.
func (o *outside) any() bool { return slices.Contains(o.keys, true) }

// count returns how many of a step's keys are among them.
func (o *outside) count(keys []int32) int {
	n := 0
	for _, k := range keys {
		if i := int64(k) - o.first; i >= 0 && i < int64(len(o.keys)) && o.keys[i] {
			n++
		}
	}
	return n
}
