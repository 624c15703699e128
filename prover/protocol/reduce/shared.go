package reduce

import (
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// restrictions are the tables that several sums of a sub-transcript use (plan.Fork.Shared). A
// sum consumes its tables, so every use but the last gets a copy.
type restrictions map[string]*restricted

type restricted struct {
	uses  int // that are still to come
	table backend.Table
}

func sharedRestrictions(uses map[string]int) restrictions {
	r := restrictions{}
	for k, n := range uses {
		r[k] = &restricted{uses: n}
	}
	return r
}

// restrict makes the table of an operand.
func (s *Session) restrict(o *plan.Operand) backend.Table {
	x := s.shared[o.Key()]
	if x == nil {
		return s.p.restrict(s.restriction(o))
	}
	if x.table == nil {
		x.table = s.p.restrict(s.restriction(o))
	}
	x.uses--
	if x.uses == 0 || s.p.failed() {
		t := x.table
		x.table = nil
		return t
	}
	return s.p.copy(x.table)
}
