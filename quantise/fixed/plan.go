package fixed

// Plan fixes what all look-ups of a model share, so that few distinct tables
// exist: every table costs a committed column of counts.
type Plan struct {
	TableBits int // of piecewise tables
	Bits      int // of activations, sign excluded

	// What the pass before found: how many entries look up each table that is taken only with
	// enough uses (ownTable), nil if there was no pass; and about how many chunks a proof will have,
	// each of which counts the uses of every table.
	uses   tableUses
	chunks int
}

// Shift is the number of fraction bits that a rounding look-up drops. Together
// with the table's bits it is at most 30, so that key and remainder follow
// from the accumulator even modulo p; more than 15 bits would make the range
// table the largest.
func (p Plan) Shift() int { return min(MostShift, 30-p.TableBits) }

// MostShift is the most bits that a rounding look-up drops.
const MostShift = 15

// Limit bounds the absolute value of accumulators that are to be rounded by Shift bits: with half a
// unit added they still have a key in a table of 2^TableBits rows.
func (p Plan) Limit() int64 { return 1<<(p.TableBits-1+p.Shift()) - 1<<p.Shift() }

// Precision goals for activations, and sizes of piecewise tables, all in bits. Tables
// of SmallTable bits are the smallest. Sizes up to CheapTable are taken for WantedBits,
// larger ones only for EnoughBits or when the model has so many entries that
// the table is a small part of the work. LeastBits is the least that activations get
// where they share an accumulator's bits with weights.
const (
	WantedBits = 12
	EnoughBits = 10
	LeastBits  = 10
	SmallTable = 14
	CheapTable = 17
)

// Tables cost rows in every chunk, so some are taken only if they have enough uses. A pass
// counts these, and the next one does without the tables that do not pay (Plan.WithUses).

// ownTable identifies such a table, of 2^bits keys: a clamp table, or a table of remainders, with the
// keys [0, 2^bits). The value of a remainder is the remainder without its lowest drop bits; with drop = 0
// the table is a range table, which has no values.
type ownTable struct {
	clamps     bool
	lo, hi     int64 // of a clamp table
	bits, drop int
}

// tableUses counts the entries that look up, or would look up, tables.
type tableUses map[ownTable]int

// MostRest is the most bits of a remainder that is looked up at once. Tests change it.
var MostRest = 18

// may reports whether a table is small enough to be taken at all.
func (t ownTable) may() bool { return t.clamps || t.bits <= MostRest }

// pays counts the entries of a shape as uses of a table, and reports whether the table costs less than
// doing without it, by the uses that the pass before found.
func (b *Builder) pays(t ownTable, shape []int) bool {
	b.uses[t] += b.Entries(shape)
	return t.may() && b.Plan.pays(t)
}

// pays reports whether a table costs less than it saves; without a pass before, it says yes. A row
// costs 2: a leaf and a count in every chunk. Each use of a table of remainders saves 2: one look-up and
// one entry of the witness. Each use of a clamp table saves 3, compared with limbs: one look-up and two
// entries.
func (p *Plan) pays(t ownTable) bool {
	cost, saved := p.chunks<<t.bits, p.uses[t]
	if t.clamps {
		cost, saved = 2*cost, 3*saved
	}
	return p.uses == nil || cost <= saved
}

// WithUses returns the plan for another pass, with the uses of tables that the pass of l counted, and
// reports whether some of these tables do not pay, so that another pass is worth while.
func (p Plan) WithUses(l *Builder) (Plan, bool) {
	p.uses, p.chunks = l.uses, l.chunks()
	for t := range p.uses {
		if t.may() && !p.pays(t) {
			return p, true
		}
	}
	return p, false
}
