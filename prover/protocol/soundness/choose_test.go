package soundness

import (
	"math"
	"testing"
)

// TestDrawn compares with floating point.
func TestDrawn(t *testing.T) {
	for d := 1; d <= MaxLogDomain; d++ {
		for _, n := range []uint64{1, 2, 5, 124, 4096} {
			want := -math.Expm1(float64(n)*math.Log1p(-math.Ldexp(1, -d))) * math.Ldexp(1, d)
			got := float64(drawn(n, d)) / (1 << drawnFrac)
			if math.Abs(got-want) > 0.02*want+0.01 {
				t.Errorf("%d draws of 2^%d: %v, want %v", n, d, got, want)
			}
		}
	}
}

// TestRowLengths: row lengths of keys, from the number of weights alone, cost little
// more than what would be best if the witness were known, and never lengthen rows or
// columns beyond reason.
func TestRowLengths(t *testing.T) {
	c := DefaultConfig
	for _, x := range []struct {
		fixed   uint64
		witness []uint64
	}{
		{1 << 4, []uint64{1 << 16}},                                       // a table or two
		{70_000, []uint64{170_000}},                                       // a convolutional network
		{70_000, []uint64{1 << 22, 1 << 22, 1 << 22, 1 << 22, 1 << 21}},   // the same, on hundreds of inputs
		{67 << 20, []uint64{1 << 20}},                                     // a large perceptron
		{134_500_000, []uint64{1 << 22, 1 << 22, 1 << 22, 1 << 22, 1000}}, // a small transformer
	} {
		fixed, err := ChooseKeyRowVars(c, x.fixed)
		if err != nil {
			t.Fatal(err)
		}
		search := newTailSearch(c)
		cost := func(v int) (int, uint64) {
			longest, err := c.longestRow(x.witness)
			if err != nil {
				t.Fatal(err)
			}
			w, cost, ok := search.rowVars(x.witness, longest, []Tree{{v, []uint64{x.fixed}}})
			if !ok {
				return 0, math.MaxUint64
			}
			return w, cost
		}
		witness, got := cost(fixed)
		best := got
		for v := minFinalVars; v <= comfortableRow; v++ {
			_, at := cost(v)
			best = min(best, at)
		}
		if float64(got) > 1.05*float64(best) {
			t.Errorf("%d weights: rows of 2^%d cost %.3f of the best", x.fixed, fixed, float64(got)/float64(best))
		}
		if chosen, err := ChooseRowVars(c, x.witness, Tree{fixed, []uint64{x.fixed}}); err != nil || chosen != witness {
			t.Errorf("%d weights: rows of 2^%d for the witness (%v), want 2^%d", x.fixed, chosen, err, witness)
		}
		// A permutation absorbs eight rows, and a column of leaves stays short.
		if x.witness[0]>>witness < leastRows || x.fixed>>fixed > 2<<comfortableFold {
			t.Errorf("%d weights: rows of 2^%d and 2^%d", x.fixed, fixed, witness)
		}
	}
}

// TestKeyRowsAreHashedSoon: a key for whose commitment somebody waits has no longer rows
// than its hashing is worth, and a small one those of the smallest proofs.
func TestKeyRowsAreHashedSoon(t *testing.T) {
	for _, x := range []struct {
		size uint64
		want int
	}{
		{61_706, 11}, {90_900, 12},
		{1<<20 + 2048, 14}, // 65 rows; of twice the length they were 33, which take a permutation more a column
		{2_099_712, 15},    // the same
		{1<<22 + 4096, 16}, // shorter rows would make proofs 9 % larger
		{16_785_408, 17},   // the same
		{134_500_000, 18},  // and the same
	} {
		if got, err := ChooseKeyRowVars(DefaultConfig, x.size); err != nil || got != x.want {
			t.Errorf("%d weights: rows of 2^%d (%v), want 2^%d", x.size, got, err, x.want)
		}
	}
}

// TestLongerRows: a large witness has longer rows than cost least where those cost hardly more,
// whether or not the rows beside it leave room for shorter ones.
func TestLongerRows(t *testing.T) {
	c, fixed := DefaultConfig, Tree{19, []uint64{19_200_000_000}}
	chunks := func(entries uint64) []uint64 {
		list := make([]uint64, 0, entries>>27+1)
		for ; entries > 0; entries -= min(entries, 1<<27) {
			list = append(list, min(entries, 1<<27))
		}
		return list
	}
	least := func(sizes []uint64, beside ...Tree) (int, uint64) {
		longest, err := c.longestRow(sizes)
		if err != nil {
			t.Fatal(err)
		}
		v, cost, _ := newTailSearch(c).rowVars(sizes, longest, beside)
		return v, cost
	}
	for _, x := range []struct {
		entries     uint64
		least, want int
	}{
		{3_100_000_000, 18, 19},
		{13_500_000_000, 18, 19},
		{15_600_000_000, 20, 20}, // which shorter rows are too many for
	} {
		sizes := chunks(x.entries)
		before, cost := least(sizes, fixed)
		got, err := ChooseRowVars(c, sizes, fixed)
		if err != nil || before != x.least || got != x.want {
			t.Errorf("%d entries: rows of 2^%d (%v), of least cost 2^%d, want 2^%d and 2^%d", x.entries, got, err, before, x.want, x.least)
		}
		if at, ok := newTailSearch(c).firstCost(Tree{got, sizes}, []Tree{fixed}); !ok || float64(at) > 1.016*float64(cost) {
			t.Errorf("%d entries: rows of 2^%d cost %.4f of the best", x.entries, got, float64(at)/float64(cost))
		}
	}
	for _, entries := range []uint64{1 << 20, 30_000_000, 200_000_000} { // of which leaves are less than is noticed
		sizes := chunks(entries)
		want, _ := least(sizes)
		if got, err := ChooseRowVars(c, sizes); err != nil || got != want {
			t.Errorf("%d entries: rows of 2^%d (%v), want 2^%d", entries, got, err, want)
		}
	}
}
