package bounds

import (
	"errors"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// maxWork bounds what intervals of a circuit may cost, in terms and entries of views that are looked at, each some
// nanoseconds: a hostile key has accumulators of many terms that are clamped in many pieces, of which each is compared
// with all others.
const maxWork = 1 << 24

var errWork = errors.New("its bounds take too long to find: too many terms of accumulators, pieces of tables or entries of views")

// spend notes that n units of work are done.
func (a *analysis) spend(n int) { a.left -= n }

// spent reports whether more was done than may be: what is found from there on is nothing.
func (a *analysis) spent() bool { return a.left < 0 }

// sameView compares views.
func (a *analysis) sameView(v, o *model.View) bool {
	if v != nil && o != nil {
		a.spend(min(viewCost(v), viewCost(o)))
	}
	return model.SameView(v, o)
}

// viewCost is what going through a view costs.
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
