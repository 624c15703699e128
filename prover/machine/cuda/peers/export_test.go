package peers

import "github.com/prove-model/prove-model/prover/protocol/whir"

// Split says whether the tables of an opening are split between machines, and how many others have rows.
func Split(p whir.Passes) (split bool, others int) {
	o := p.(*opening)
	s, ok := o.rounds.(*splitTables)
	return ok && len(s.parts) > 1, len(o.rows.all) - 1
}
