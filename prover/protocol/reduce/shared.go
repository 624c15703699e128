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

// restrict makes the tables of operands.
func (s *Session) restrict(operands []*plan.Operand) []backend.Table {
	tables := make([]backend.Table, len(operands))
	shared := make([]*restricted, len(operands))
	var list []backend.Restriction
	var to []*backend.Table
	coming := map[*restricted]bool{}
	for i, o := range operands {
		var x *restricted
		if s.g.Tensors[o.Tensor].Kind.Constant() {
			x = s.shared[o.Key()]
		}
		shared[i] = x
		switch {
		case x == nil:
			list, to = append(list, s.restriction(o)), append(to, &tables[i])
		case x.table == nil && !coming[x]:
			coming[x] = true
			list, to = append(list, s.restriction(o)), append(to, &x.table)
		}
	}
	for i, t := range s.p.restrict(list) {
		*to[i] = t
	}
	for i, x := range shared {
		if x == nil {
			continue
		}
		if x.uses--; x.uses > 0 && !s.p.failed() {
			tables[i] = s.p.copy(x.table)
		} else {
			tables[i], x.table = x.table, nil
		}
	}
	return tables
}
