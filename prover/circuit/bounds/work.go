package bounds

import (
	"errors"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// maxWork bounds the work of finding the intervals of a circuit, in units of some nanoseconds: a term or an entry of a view that is
// looked at. Without it a hostile key could have accumulators of many terms, each the result of a look-up in a table of many pieces, and
// terms are compared with each other once for each piece.
const maxWork = 1 << 24

var errWork = errors.New("its bounds take too long to find: too many terms of accumulators, pieces of tables or entries of views")

// spend counts n units of work.
func (a *analysis) spend(n int) { a.left -= n }

// spent reports whether more than maxWork has been done. Intervals that are computed afterwards may be everything, and run stops with an
// error.
func (a *analysis) spent() bool { return a.left < 0 }

// sameView is model.SameView, with its work counted.
func (a *analysis) sameView(v, o *model.View) bool {
	if v != nil && o != nil {
		a.spend(min(viewCost(v), viewCost(o)))
	}
	return model.SameView(v, o)
}

// viewCost returns the work of going through a view.
func viewCost(v *model.View) int {
	if v == nil {
		return 0
	}
	n := 0
	for i := range v.Groups {
		g := &v.Groups[i]
		n += 1 + len(g.Out) + len(g.Sum) + len(g.Index)/8
	}
	return n
}
