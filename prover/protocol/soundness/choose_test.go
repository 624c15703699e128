package soundness

import (
	"math"
	"testing"

	"github.com/prove-model/prove-model/prover/math/hash"
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
// than its hashing is worth, and a small one those of the smallest proofs. BLAKE3 takes less time,
// so that its rows are longer.
func TestKeyRowsAreHashedSoon(t *testing.T) {
	for _, x := range []struct {
		size              uint64
		poseidon2, blake3 int
	}{
		{61_706, 11, 11}, {90_900, 12, 12},
		{1<<20 + 2048, 14, 15}, // 65 rows; of twice the length they were 33, which take a permutation more a column
		{2_099_712, 15, 16},    // the same
		{1<<22 + 4096, 16, 17}, // shorter rows would make proofs 9 % larger
		{16_785_408, 17, 18},   // the same
		{134_500_000, 19, 20},
		{6_900_000_000, 22, 22}, {19_200_000_000, 22, 22}, // of a gigabyte of digests
	} {
		for suite, want := range map[hash.Suite]int{hash.Poseidon2: x.poseidon2, hash.Blake3: x.blake3} {
			c := DefaultConfig
			c.Hash = suite
			if got, err := ChooseKeyRowVars(c, x.size); err != nil || got != want {
				t.Errorf("%d weights, %v: rows of 2^%d (%v), want 2^%d", x.size, suite, got, err, want)
			}
		}
	}
}

// TestManyBytes: first trees of large models take few bytes of a proof, since these count more when there are many. Twice or
// half the length costs little more or little less, so that constants need be right to a factor of two alone.
func TestManyBytes(t *testing.T) {
	chunks := func(entries, each uint64) []uint64 {
		list := make([]uint64, 0, entries/each+1)
		for ; entries > 0; entries -= min(entries, each) {
			list = append(list, min(entries, each))
		}
		return list
	}
	for _, x := range []struct {
		name             string
		weights, entries uint64
		row              int
		most             uint64  // bytes
		flat             float64 // what half the length costs
	}{
		{"SmolLM2, 16 tokens", 134_500_000, 20_000_000, 18, 300_000, 1.04},
		{"SmolLM2, 2,048 tokens", 134_500_000, 10_000_000_000, 22, 1_500_000, 1.01},
		{"Llama-2-7B, 2,048 tokens", 6_900_000_000, 60_000_000_000, 23, 5_000_000, 1.02},
		{"Qwen3-14B, 1 token", 19_200_000_000, 40_000_000, 19, 2_500_000, 1.01},
		{"Qwen3-14B, 128 tokens", 19_200_000_000, 3_100_000_000, 22, 3_000_000, 1.01},
		{"Qwen3-14B, 512 tokens", 19_200_000_000, 13_500_000_000, 22, 4_500_000, 1.04},
	} {
		c, each := DefaultConfig, uint64(1)<<27
		c.Hash = hash.Blake3
		if x.entries < each {
			each = 1 << 22
		}
		key, err := ChooseKeyRowVars(c, x.weights)
		if err != nil {
			t.Fatal(err)
		}
		fixed, sizes := Tree{key, []uint64{x.weights}}, chunks(x.entries, each)
		got, err := ChooseRowVars(c, sizes, fixed)
		if err != nil || got != x.row {
			t.Errorf("%s: rows of 2^%d (%v), want 2^%d", x.name, got, err, x.row)
		}
		l := Level{LogBlowup: c.LogBlowup, RowVars: max(key, got)}
		c.secure(&l, 0)
		own := Tree{got, sizes}
		if n := l.openedBytes(limbBytes*fixed.rows(key), key+c.LogBlowup) + l.openedBytes(limbBytes*own.rows(got), got+c.LogBlowup); n > x.most {
			t.Errorf("%s: %d bytes of first trees", x.name, n)
		}
		search := newTailSearch(c)
		at, _ := search.firstCost(own, []Tree{fixed})
		half, ok := search.firstCost(Tree{got - 1, sizes}, []Tree{fixed})
		if ratio := float64(half) / float64(at); !ok || ratio < 1 || ratio > x.flat {
			t.Errorf("%s: rows of half the length cost %.3f of the best", x.name, ratio)
		}
	}
}
