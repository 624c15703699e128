package fixed

// Plan fixes what all look-ups of a model share, so that few distinct tables
// exist: every table costs a committed column of counts.
type Plan struct {
	TableBits int // of piecewise tables
	Bits      int // of activations, sign excluded

	// What the pass before found: how many entries look up each table that has to pay for its
	// rows, nil if there was no pass; and about how many chunks a proof will have, each of which
	// counts the uses of every table.
	uses   *tableUses
	chunks int
}

// Shift is the number of fraction bits that a rounding look-up drops. Together
// with the table's bits it is at most 30, so that key and remainder follow
// from the accumulator even modulo p; more than 15 bits would make the range
// table the largest.
func (p Plan) Shift() int { return min(MostShift, 30-p.TableBits) }

// MostShift is the most bits that a rounding look-up drops.
const MostShift = 15

// Limit bounds the absolute value of accumulators that are to be rounded: with
// the rounding constant added they still have a key.
func (p Plan) Limit() int64 { return 1<<(p.TableBits-1+p.Shift()) - 1<<p.Shift() }

// Precision goals. Table sizes up to CheapTable are taken for WantedBits,
// larger ones only for EnoughBits or when the model has so many entries that
// the table is a small part of the work.
const (
	WantedBits = 12
	EnoughBits = 10
	LeastBits  = 10
	SmallTable = 14
	CheapTable = 17
)

// Tables cost rows in every chunk, so some are taken only if they have enough uses. A pass
// counts these, and the next one does without the tables that do not pay (Plan.WithUses).

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

// sparse counts one more use of a clamp table, and reports whether rounding to limbs costs less
// than the table, by the uses that the pass before found.
func (b *Builder) sparse(t clampTable, shape []int) bool {
	b.uses.clamps[t] += b.Entries(shape)
	return b.Plan.sparse(t)
}

// sparse reports whether a table costs more than limbs. A row of a table costs a leaf and a
// count in every chunk; an entry in limbs costs one look-up and two entries of the witness more.
func (p *Plan) sparse(t clampTable) bool {
	return p.uses != nil && 2*p.chunks<<t.bits > 3*p.uses.clamps[t]
}

// MostRest is the most bits of a rest that one look-up takes. Tests change it.
var MostRest = 18

// paysRest counts one more use of a table of rests, and reports whether the table costs less
// than two look-ups for each rest, by the uses that the pass before found.
func (b *Builder) paysRest(t restTable, shape []int) bool {
	b.uses.rests[t] += b.Entries(shape)
	return t.bits <= MostRest && b.Plan.paysRest(t)
}

// paysRest reports whether a table costs less than it saves. A row costs a leaf and a count in
// every chunk; an entry without the table costs one look-up and one entry of the witness more.
func (p *Plan) paysRest(t restTable) bool {
	return p.uses == nil || p.chunks<<t.bits <= p.uses.rests[t]
}

// WithUses returns the plan of a pass that knows the uses of tables, and whether some of the
// tables do not pay, so that another pass is worth while.
func (p Plan) WithUses(l *Builder) (Plan, bool) {
	p.uses, p.chunks = &l.uses, l.chunks()
	for t := range p.uses.clamps {
		if p.sparse(t) {
			return p, true
		}
	}
	for t := range p.uses.rests {
		if t.bits <= MostRest && !p.paysRest(t) {
			return p, true
		}
	}
	return p, false
}
