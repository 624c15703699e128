package reduce

import (
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// restrictions are the tables that several sums of a sub-transcript use (plan.Fork.Shared). A
// sum consumes its tables, so every use but the last gets a copy.
type restrictions map[string]*restricted

// restricted is one such table.
type restricted struct {
	uses  int           // how many sums have yet to use it
	table backend.Table // nil before the first use and after the last
}

// sharedRestrictions returns the restrictions for plan.Fork.Shared's result.
func sharedRestrictions(uses map[string]int) restrictions {
	r := restrictions{}
	for k, n := range uses {
		r[k] = &restricted{uses: n}
	}
	return r
}

// restrict returns the tables of operands. It makes those that are not known in one call of the
// backend, and each shared table once.
func (s *Session) restrict(operands []*plan.Operand) []backend.Table {
	tables := make([]backend.Table, len(operands))
	shared := make([]*restricted, len(operands)) // by operand, nil if its table is not shared
	var list []backend.Restriction               // the tables to make
	var to []*backend.Table                      // where each of these belongs
	coming := map[*restricted]bool{}             // the shared tables in list
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
