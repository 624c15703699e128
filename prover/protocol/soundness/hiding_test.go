package soundness

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// TestQueriesOfTails: 1−δ = 3/8 + (1+2^(−j))/4 at base rate 1/4, so 84 bits take
// ⌈84/−log2(1−δ)⌉ positions.
func TestQueriesOfTails(t *testing.T) {
	for j, want := range map[int]int{0: 124, 6: 126, 5: 128, 4: 131, 3: 139, 2: 156} {
		l := Level{RowVars: 16, LogBlowup: 2}
		if !DefaultConfig.secure(&l, j) || l.Queries != want {
			t.Errorf("tails of 2^-%d: %d queries, want %d", j, l.Queries, want)
		}
	}
	for b := 1; b <= 8; b++ {
		base := math.Exp2(-float64(b))
		for j := 1; j <= MaxTailLog; j++ {
			rho := base * (1 + math.Exp2(-float64(j)))
			want := -math.Log2((1-base)/2 + rho)
			if got := (codeBound{20, b, 0, j}).perQuery(); math.Abs(got.Float()-want) > 1e-6 || got.Float() > want {
				t.Errorf("rate 2^-%d, tails of 2^-%d: %v bits a query, want %v and no more", b, j, got.Float(), want)
			}
		}
	}
}

// TestRadiiDoNotMeet: with δ = (1+ρ₀)/2 − ρ a root cannot stand for one table under a fraction and
// for another under the next. Two tables of codes of rates ρ1 ≤ ρ2 agree on fewer than ρ2 of the
// positions, so a word within δ1 of one and δ2 of the other needs δ1 + δ2 > 1 − ρ2. With half of each
// code's distance it may be: the first sum says so.
func TestRadiiDoNotMeet(t *testing.T) {
	half := big.NewRat(1, 2)
	one := big.NewRat(1, 1)
	for b := 1; b <= 8; b++ {
		base := big.NewRat(1, 1<<b)
		rho := func(j int) *big.Rat {
			if j == 0 {
				return base
			}
			return new(big.Rat).Mul(base, big.NewRat(1<<j+1, 1<<j))
		}
		delta := func(j int) *big.Rat { // by the bits of a query
			lost := new(big.Rat).SetFloat64(math.Exp2(-(codeBound{20, b, 0, j}).perQuery().Float()))
			return lost.Sub(one, lost)
		}
		met := false
		for j := 0; j <= MaxTailLog; j++ {
			for k := 0; k <= MaxTailLog; k++ {
				if j == 1 || k == 1 {
					continue
				}
				most := rho(j)
				if rho(k).Cmp(most) > 0 {
					most = rho(k)
				}
				apart := new(big.Rat).Sub(one, most)
				halves := new(big.Rat).Sub(big.NewRat(2, 1), rho(j))
				halves.Mul(halves.Sub(halves, rho(k)), half)
				met = met || halves.Cmp(apart) > 0
				if new(big.Rat).Add(delta(j), delta(k)).Cmp(apart) > 0 { // rounded against the prover
					t.Errorf("rate 2^-%d: radii under tails of 2^-%d and 2^-%d meet", b, j, k)
				}
			}
		}
		if !met {
			t.Errorf("rate 2^-%d: half the distance would do", b)
		}
	}
}

func TestCheckHiding(t *testing.T) {
	for _, mode := range []Mode{Unique, Johnson} {
		c := DefaultConfig
		c.Mode = mode
		for j := MinTailLog; j <= MaxTailLog; j++ {
			for _, rows := range []uint64{16, 100, 1000} {
				p, err := DeriveHiding(c, j, 16, rows)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := CheckHiding(c, j, p.Levels, rows); err != nil {
					t.Fatalf("%s, 2^-%d, %d rows: %v", mode, j, rows, err)
				}
				if _, err := Check(c, p.Levels, rows); err == nil {
					t.Error("levels of a hiding opening are those of a plain one")
				}
				plain, err := Derive(c, 16, rows)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := CheckHiding(c, j, plain.Levels, rows); err == nil {
					t.Error("levels of a plain opening are those of a hiding one")
				}
				// A tail that fills the rows of level 1 in part costs queries.
				h := p.Levels[1].FoldVars - 1
				if n := p.LeafRows(1); n != 1<<h+max(1, 1<<h>>j) || p.LeafRows(2) != 1<<p.Levels[2].FoldVars {
					t.Errorf("2^%d rows and tails of 2^-%d: %d in the tree", h, j, n)
				}
				if got, want := p.bound(0).tailLog, min(j, h); got != want {
					t.Errorf("2^%d rows at level 1, tails of 2^-%d: a code of 2^-%d", h, j, got)
				}
				one := slices.ContainsFunc(p.Rounds(), func(r Round) bool {
					return strings.Contains(r.Name, "auxiliary row") && r.Times == 1 && r.Bits == p.bound(0).bits().fold+WholeBits(p.Levels[0].FoldGrind)
				})
				if !one {
					t.Error("the auxiliary row's round is not accounted for")
				}
				for name, change := range map[string]func(l []Level){
					"a query less":           func(l []Level) { l[0].Queries-- },
					"a variable less folded": func(l []Level) { l[1].FoldVars-- },
					"a longer row":           func(l []Level) { l[1].RowVars++ },
					"less grinding":          func(l []Level) { l[0].QueryGrind-- },
					"a radius at level 0":    func(l []Level) { l[0].Multiplicity, l[0].OutOfDomain = 3, 1 },
				} {
					l := slices.Clone(p.Levels)
					change(l)
					if _, err := CheckHiding(c, j, l, rows); err == nil {
						t.Errorf("%s, 2^-%d, %d rows: %s: accepted", mode, j, rows, name)
					}
				}
				if _, err := CheckHiding(c, j, p.Levels[:1], rows); err == nil {
					t.Error("one level: accepted")
				}
			}
		}
	}
	p, err := DeriveHiding(DefaultConfig, 4, 16, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []int{-1, 0, 1, 7, 63} {
		if _, err := CheckHiding(DefaultConfig, j, p.Levels, 100); err == nil {
			t.Errorf("tails of 2^-%d: accepted", j)
		}
	}
	narrow := slices.Clone(p.Levels) // a row too short for the pads of the rounds
	narrow[0].RowVars, narrow[1].RowVars = 6, 3
	narrow[1].FoldVars = 4
	if _, err := CheckHiding(DefaultConfig, 4, narrow[:2], 100); err == nil || !strings.Contains(err.Error(), "pads") {
		t.Errorf("pads that do not fit: %v", err)
	}
	short := slices.Clone(p.Levels)
	short[1].FoldVars, short[1].RowVars = 3, 14
	if _, err := CheckHiding(DefaultConfig, 4, short, 100); err == nil || !strings.Contains(err.Error(), "folds") {
		t.Errorf("four rows of values at level 1: %v", err)
	}
}

// TestBudget: a key that is chosen for a number of proofs is good for them whatever levels its
// proofs have, and tails of witnesses have an element for each query.
func TestBudget(t *testing.T) {
	c := DefaultConfig
	for _, size := range []uint64{18_000, 300_000, 30_000_000, 1 << 30} {
		for _, proofs := range []int{1, 7, 50, 1000} {
			v, j, err := ChooseHidingKey(c, size, proofs)
			if err != nil {
				t.Fatalf("%d values, %d proofs: %v", size, proofs, err)
			}
			for _, entries := range []uint64{1000, 100_000, 10_000_000} {
				beside := Tree{v, []uint64{size}}
				own, err := ChooseHidingRowVars(c, j, []uint64{entries, 4096}, beside)
				if err != nil {
					t.Fatal(err)
				}
				a := max(own, v)
				p, err := DeriveHiding(c, j, a, (&Tree{v, []uint64{size}}).rows(a)+(&Tree{own, []uint64{entries, 4096}}).rows(a)+2*Masks)
				if err != nil {
					t.Fatal(err)
				}
				q := uint64(p.Levels[0].Queries)
				if q > c.MostQueries(j) || q*uint64(proofs) > Budget(v, j) || q > Budget(own, j) {
					t.Errorf("%d values, %d proofs, witness of %d: rows of 2^%d and 2^%d, tails of 2^-%d: %d queries", size, proofs, entries, v, own, j, q)
				}
			}
		}
	}
	if _, _, err := ChooseHidingKey(c, 1000, 0); err == nil {
		t.Error("no proofs: accepted")
	}
	if _, _, err := ChooseHidingKey(c, 1000, 1<<40); err == nil {
		t.Error("2^40 proofs: accepted")
	}
}

// TestHidingBytes: what a hiding opening of a large key opens of the first trees is not much more than a plain one does. Leaves
// of many rows are worth longer ones, for both alike.
func TestHidingBytes(t *testing.T) {
	c := DefaultConfig
	for _, key := range []uint64{6_700_000_000, 14_800_000_000} {
		for _, witness := range []uint64{key / 5, key} {
			opened := func(key, own Tree, queries, more int) (bytes uint64) {
				l := Level{Queries: queries}
				bytes = l.openedBytes(limbBytes*(own.rows(own.RowVars)+uint64(more)), own.RowVars+c.LogBlowup)
				return bytes + l.openedBytes(limbBytes*key.rows(key.RowVars), key.RowVars+c.LogBlowup)
			}
			k, w := Tree{Sizes: []uint64{key}}, Tree{Sizes: []uint64{witness}}
			var err error
			if k.RowVars, err = ChooseKeyRowVars(c, key); err != nil {
				t.Fatal(err)
			}
			if w.RowVars, err = ChooseRowVars(c, w.Sizes, k); err != nil {
				t.Fatal(err)
			}
			plain := opened(k, w, 124, 0)
			var tails int
			if k.RowVars, tails, err = ChooseHidingKey(c, key, 7); err != nil {
				t.Fatal(err)
			}
			if w.RowVars, err = ChooseHidingRowVars(c, tails, w.Sizes, k); err != nil {
				t.Fatal(err)
			}
			longest := max(k.RowVars, w.RowVars)
			p, err := DeriveHiding(c, tails, longest, k.rows(longest)+w.rows(longest)+2*Masks)
			if err != nil {
				t.Fatal(err)
			}
			hides := opened(k, w, p.Levels[0].Queries, (Masks+1)<<(longest-w.RowVars))
			if hides > plain+plain/5 {
				t.Errorf("%d weights, %d values: %d bytes, plain %d", key, witness, hides, plain)
			}
		}
	}
}
