package quantise

// Tables cost rows in every chunk, so some are taken only if they have enough uses. A pass
// counts these, and the next one does without the tables that do not pay (plan.withUses).

// clampTable is a clamp table of 2^bits keys.
type clampTable struct {
	lo, hi int64
	bits   int
}

// restTable is a table of 2^bits rests of which the upper ones are the value, from bit drop
// on, or of no values if that is 0.
type restTable struct{ bits, drop int }

// tableUses counts the entries that look up, or would look up, tables.
type tableUses struct {
	clamps map[clampTable]int
	rests  map[restTable]int
}

func newTableUses() tableUses {
	return tableUses{map[clampTable]int{}, map[restTable]int{}}
}

// sparse notes that a clamp table has another use, and reports whether limbs cost less
// than the table for all the uses that the pass before has found.
func (l *builder) sparse(t clampTable, shape []int) bool {
	l.uses.clamps[t] += l.entries(shape)
	return l.plan.sparse(t)
}

// sparse reports whether a table costs more than limbs: a row is a leaf and a count in
// every chunk, an entry in limbs a look-up and two entries of the witness more.
func (p *plan) sparse(t clampTable) bool {
	return p.uses != nil && 2*p.chunks<<t.bits > 3*p.uses.clamps[t]
}

// mostRest is the most bits that a rest has which is looked up at once.
var mostRest = 18

// paysRest notes that a table of rests has another use, and reports whether it costs less
// than two look-ups, of either part of a rest, for all the uses that the pass before has
// found.
func (l *builder) paysRest(t restTable, shape []int) bool {
	l.uses.rests[t] += l.entries(shape)
	return t.bits <= mostRest && l.plan.paysRest(t)
}

// paysRest reports whether a table costs less than what it saves: a row is a leaf and a
// count in every chunk, an entry without it a look-up and an entry of the witness more.
func (p *plan) paysRest(t restTable) bool {
	return p.uses == nil || p.chunks<<t.bits <= p.uses.rests[t]
}

// withUses returns the plan of a pass that knows of the uses of tables, and whether
// there are any that other look-ups take the place of.
func (p plan) withUses(l *builder) (plan, bool) {
	p.uses, p.chunks = &l.uses, l.chunks()
	for t := range p.uses.clamps {
		if p.sparse(t) {
			return p, true
		}
	}
	for t := range p.uses.rests {
		if t.bits <= mostRest && !p.paysRest(t) {
			return p, true
		}
	}
	return p, false
}
