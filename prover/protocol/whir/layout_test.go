package whir

import (
	"github.com/prove-model/prove-model/prover/math/hash"
	"slices"
	"testing"
)

// TestSingleStack: groups of as many rows as the suite says, and what is left.
func TestSingleStack(t *testing.T) {
	for rows, want := range map[int][]Group{
		1:    {{First: 0, Rows: 1}},
		512:  {{First: 0, Rows: 512}},
		513:  {{First: 0, Rows: 512}, {First: 512, Rows: 1}},
		1030: {{First: 0, Rows: 512}, {First: 512, Rows: 512}, {First: 1024, Rows: 6}},
	} {
		l := SingleStack(hash.Poseidon2, 4, 2, rows)
		if !slices.Equal(l.Groups, want) || l.Rows() != rows || l.Slots() != uint64(rows) || l.check() != nil {
			t.Errorf("%d rows: %+v", rows, l)
		}
		for i, g := range SingleStack(hash.Blake3, 4, 2, rows).Groups {
			if g.First != uint64(256*i) || g.Rows != min(256, rows-256*i) {
				t.Errorf("%d rows, blake3: group %d is %+v", rows, i, g)
			}
		}
	}
}

// TestParts: weights are made for the parts that rows are in, not for all slots.
func TestParts(t *testing.T) {
	l := Layout{RowVars: 0, LogBlowup: 2, Groups: []Group{{First: 0, Rows: 3}, {First: 1 << 26, Rows: 7}, {First: 1 << 27, Rows: 2}}}
	for shift, want := range map[int]int{0: 1, 1: 2, 2: 4, 3: 7, 26: 7} {
		if got := l.parts(shift); got != want {
			t.Errorf("2^%d slots a row: %d parts, want %d", shift, got, want)
		}
	}
}

// TestTableRows: the table rows that a tree takes are those of its slots, whatever
// their length, and those in between are left out.
func TestTableRows(t *testing.T) {
	l := Layout{RowVars: 3, LogBlowup: 1, Groups: []Group{{First: 0, Rows: 3}, {First: 3, Rows: 2}, {First: 12, Rows: 1}, {First: 17, Rows: 4}}}
	for shift, want := range map[int][]uint64{
		0: {0, 1, 2, 3, 4, 12, 17, 18, 19, 20},
		1: {0, 1, 2, 6, 8, 9, 10},
		2: {0, 1, 3, 4, 5},
		5: {0},
	} {
		if got := l.TableRows(shift); !slices.Equal(got, want) {
			t.Errorf("2^%d slots a row: %d, want %d", shift, got, want)
		}
	}
}
