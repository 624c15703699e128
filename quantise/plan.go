package quantise

import "github.com/prove-model/prove-model/prover/circuit/model"

// plan fixes what all look-ups of a model share, so that few distinct tables
// exist: every table costs a committed column of counts.
type plan struct {
	tableBits int // of piecewise tables
	bits      int // of activations, sign excluded

	// What a pass before has found: how many entries use each table that has to pay, nil
	// if there was none; and about how many chunks there will be, each of which has its
	// counts of every table.
	uses   *tableUses
	chunks int
}

// shift is the number of fraction bits that a rounding look-up drops. Together
// with the table's bits it is at most 30, so that key and remainder follow
// from the accumulator even modulo p; more than 15 bits would make the range
// table the largest.
func (p plan) shift() int { return min(mostShift, 30-p.tableBits) }

const mostShift = 15

// limit bounds the absolute value of accumulators that are to be rounded: with
// the rounding constant added they still have a key.
func (p plan) limit() int64 { return 1<<(p.tableBits-1+p.shift()) - 1<<p.shift() }

// Precision goals. Table sizes up to cheapTable are taken for wantedBits,
// larger ones only for enoughBits or when the model has so many entries that
// the table is a small part of the work.
const (
	wantedBits = 12
	enoughBits = 10
	leastBits  = 10
	smallTable = 14
	cheapTable = 17
)

// improve derives the plan of the final pass from what a pass with the
// largest tables met.
func (p plan) improve(l *lowering, opts Options) plan {
	bits := min(wantedBits, opts.ActBits-1, l.maxBits)
	// need is the table size with which every step has its wanted bits.
	need, entries := 0, 0
	for _, s := range l.steps {
		need = max(need, s.needTable)
		entries += s.Entries
	}
	need += bits - p.bits
	free := 0 // a table of this size is no more than the look-ups themselves
	for 1<<(free+1) <= entries {
		free++
	}
	n := min(need, max(cheapTable, free))
	// Below that, lose precision, but not too much of it.
	n = max(n, need-(bits-min(bits, enoughBits)))
	n = min(max(n, smallTable, bits+1), opts.MaxTableBits)
	// Use the room that is left.
	for bits < min(opts.ActBits-1, l.maxBits, wantedBits+1) && need+1 <= n {
		bits++
		need++
	}
	return plan{tableBits: n, bits: bits}
}

// chunks estimates the number of chunks of a pass, of canonical size (model.Finish).
func (l *builder) chunks() int {
	const entries, few = 1 << 22, 64 // of a chunk, and chunks that are not too many
	n := 0
	for i := range l.g.Steps {
		if s := &l.g.Steps[i]; s.Kind == model.StepLookup {
			n += l.entries(s.Shape)
		}
	}
	n = 1 + n/entries
	for n > few {
		n /= 2
	}
	return n
}

// precise reports whether every step has enough bits.
func (l *lowering) precise() bool {
	for _, s := range l.steps {
		if s.needTable > 1 && s.Bits < min(s.Wanted, enoughBits) {
			return false
		}
	}
	return true
}
