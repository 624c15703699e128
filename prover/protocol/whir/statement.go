package whir

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// statement is what both sides know of an opening: the trees' roots and layouts
// and the table row that each begins with, the functional and its value.
type statement struct {
	params     *soundness.Params
	roots      []hash.Digest // by tree
	layouts    []Layout      // by tree
	rowOffsets []uint64      // by tree: its first table row
	terms      Terms         // their sum is the functional Q
	value      field.QM31    // the value of Σ_x Table(x)·Q(x)
}

// shift returns log2 of the number of a tree's rows in a table row.
func (s *statement) shift(tree int) int { return s.params.RowVars() - s.layouts[tree].RowVars }

// tableRows returns the number of table rows that a tree takes.
func (s *statement) tableRows(tree int) uint64 {
	shift := s.shift(tree)
	return (s.layouts[tree].Slots() + 1<<shift - 1) >> shift
}

// size returns roughly the size of an opening in bytes: an upper bound for the first trees'
// leaves, and a constant for the rest.
func (s *statement) size() int {
	const rest = 1 << 20
	values := 0
	for i := range s.layouts {
		values += s.layouts[i].Rows()
		if s.layouts[i].Salted() {
			values += len(hash.Digest{})
		}
	}
	return rest + transcript.LimbBytes*s.params.Levels[0].Queries*values
}

// check reports trees that overlap or do not fit the parameters.
func (s *statement) check() error {
	if len(s.roots) == 0 || len(s.layouts) != len(s.roots) || len(s.rowOffsets) != len(s.roots) {
		return fmt.Errorf("whir: %d roots, %d layouts, %d row offsets", len(s.roots), len(s.layouts), len(s.rowOffsets))
	}
	first := s.params.Levels[0]
	slots := uint64(1) << first.FoldVars
	longest := 0
	var end uint64
	for i := range s.layouts {
		l, from := &s.layouts[i], s.rowOffsets[i]
		if err := l.check(); err != nil {
			return fmt.Errorf("tree %d: %w", i, err)
		}
		if l.Hash != s.params.Config.Hash {
			return fmt.Errorf("whir: tree %d is hashed with %s, the parameters ask for %s", i, l.Hash, s.params.Config.Hash)
		}
		if l.RowVars > first.RowVars || l.LogBlowup != first.LogBlowup {
			return fmt.Errorf("whir: tree %d has rows of 2^%d values at rate 2^-%d, the parameters 2^%d at 2^-%d",
				i, l.RowVars, l.LogBlowup, first.RowVars, first.LogBlowup)
		}
		rows := s.tableRows(i)
		if from < end || from > slots || rows > slots-from {
			return fmt.Errorf("whir: tree %d has %d rows from row %d on, after row %d, of %d", i, rows, from, end, slots)
		}
		end = from + rows
		longest = max(longest, l.RowVars)
	}
	if longest != first.RowVars {
		return fmt.Errorf("whir: no tree has rows of 2^%d values", first.RowVars)
	}
	return s.checkTails()
}

// absorb absorbs the statement without its terms. These must be functions of what the
// transcript has absorbed before (Open).
func (s *statement) absorb(t *transcript.Sponge) {
	t.AbsorbBytes([]byte("whir"))
	c := s.params.Config
	for _, v := range []int{c.TargetBits, c.GrindBits, c.LogBlowup, int(c.Mode), s.params.RowVars(), s.params.NumVars(), len(s.roots)} {
		t.AbsorbUint64(uint64(v))
	}
	for i := range s.roots {
		t.AbsorbDigest(s.roots[i])
		l := &s.layouts[i]
		for _, v := range []uint64{uint64(l.RowVars), s.rowOffsets[i], uint64(len(l.Groups))} {
			t.AbsorbUint64(v)
		}
		for _, g := range l.Groups {
			t.AbsorbUint64(g.First)
			t.AbsorbUint64(uint64(g.Rows))
		}
	}
	s.absorbTails(t)
	t.AbsorbQM31(s.value)
}
