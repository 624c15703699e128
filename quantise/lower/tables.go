package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// boundsOf returns the clamp that a function is, or nil.
func boundsOf(s graph.Scalar) *fixed.Piecewise {
	if s.Func.Clamp == nil {
		return nil
	}
	c := s.Func.Clamp(s.Params)
	b := &fixed.Piecewise{Kind: fixed.Keep, Lo: c.Lo, Hi: c.Hi}
	if c.Abs {
		b.Kind = fixed.Absolute
	}
	return b
}
