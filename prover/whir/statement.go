package whir

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
)

// statement is what both sides know of an opening: the trees' roots, row counts
// and row offsets, the functional and its value.
type statement struct {
	params     *soundness.Params
	roots      []poseidon2.Digest
	rowCounts  []int
	rowOffsets []uint64
	terms      []Term
	value      field.QM31
}

// check reports trees that overlap or do not fit the parameters, and terms
// outside the table.
func (s *statement) check() error {
	if len(s.roots) == 0 || len(s.rowCounts) != len(s.roots) || len(s.rowOffsets) != len(s.roots) {
		return fmt.Errorf("whir: %d roots, %d row counts, %d row offsets", len(s.roots), len(s.rowCounts), len(s.rowOffsets))
	}
	slots := uint64(1) << s.params.Levels[0].FoldVars
	var end uint64
	for i, rows := range s.rowCounts {
		from := s.rowOffsets[i]
		if rows < 1 || from < end || from > slots || uint64(rows) > slots-from {
			return fmt.Errorf("whir: tree %d has %d rows from row %d on, after row %d, of %d", i, rows, from, end, slots)
		}
		end = from + uint64(rows)
	}
	return checkTerms(s.terms, s.params.NumVars())
}

// absorb binds the transcript to the statement, but for the terms: those are
// functions of what the transcript has absorbed before, as the roots are.
func (s *statement) absorb(t *transcript.Sponge) {
	t.AbsorbBytes([]byte("whir"))
	c := s.params.Config
	for _, v := range []int{c.TargetBits, c.GrindBits, c.LogBlowup, int(c.Mode), s.params.RowVars(), s.params.NumVars(), len(s.roots)} {
		t.AbsorbUint64(uint64(v))
	}
	for i := range s.roots {
		t.AbsorbDigest(s.roots[i])
		t.AbsorbUint64(uint64(s.rowCounts[i]))
		t.AbsorbUint64(s.rowOffsets[i])
	}
	t.AbsorbQM31(s.value)
}
