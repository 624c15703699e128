package soundness

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// choose picks the row length of a tree over stacks of the given numbers of
// values, at least one of them positive, and derives the parameters of its
// opening by itself.
func choose(c Config, sizes []uint64) (*Params, error) {
	rowVars, err := ChooseRowVars(c, sizes)
	if err != nil {
		return nil, err
	}
	return Derive(c, rowVars, (&Tree{rowVars, sizes}).rows(rowVars))
}

func TestLog2(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := new(big.Int).SetUint64(max(1, rapid.Uint64().Draw(t, "x")))
		shift := rapid.UintRange(0, 200).Draw(t, "shift")
		f, _ := new(big.Float).SetInt(x).Float64()
		want := math.Log2(f) + float64(shift)
		x.Lsh(x, shift)
		lo, hi := log2Floor(x), log2Ceil(x)
		const slack = 1e-9 // of the reference
		if lo.Float() > want+slack || lo.Float() < want-3e-7 {
			t.Fatalf("log2Floor(%v) = %v, want %v", x, lo.Float(), want)
		}
		if hi.Float() < want-slack || hi.Float() > want+3e-7 {
			t.Fatalf("log2Ceil(%v) = %v, want %v", x, hi.Float(), want)
		}
	})
	for n := range 130 {
		if x := new(big.Int).Lsh(big.NewInt(1), uint(n)); log2Floor(x) != WholeBits(n) || log2Ceil(x) != WholeBits(n) {
			t.Errorf("log2(2^%d) is not exact", n)
		}
	}
}

// near reports whether a computed number of bits is below the true one by less
// than the resolution.
func near(b Bits, want float64) bool { return b.Float() <= want+1e-9 && b.Float() > want-1e-6 }

// TestReference compares with values computed by hand.
func TestReference(t *testing.T) {
	// log2 |K| = 4·log2(2^31 − 1) = 124 − 4·log2(e)/2^31 = 124 − 2.687e-9.
	const k = 124 - 2.687e-9
	for _, c := range []struct {
		name string
		got  Bits
		want float64
	}{
		// Rate 1/4, unique decoding: 1−δ = 1 − 3/8 = 5/8, log2(8/5) = 0.678071905.
		{"unique query, rate 1/4", codeBound{20, 2, 0, 0}.perQuery(), 0.678071905},
		// Rate 1/16: 1−δ = 17/32, log2(32/17) = 0.912537159.
		{"unique query, rate 1/16", codeBound{20, 4, 0, 0}.perQuery(), 0.912537159},
		// Rate 1/4, m = 8: 1−δ = (1/2)(9/8) = 9/16, log2(16/9) = 0.830074999.
		{"johnson query, rate 1/4", codeBound{20, 2, 8, 0}.perQuery(), 0.830074999},
		// Rate 1/8, m = 4: √8·4/5 = 2.2627417, log2 = 1.178071905.
		{"johnson query, rate 1/8", codeBound{20, 3, 4, 0}.perQuery(), 1.178071905},
		// n = 2^22: (3+2^22)/|K|.
		{"unique fold, 2^22", codeBound{22, 2, 0, 0}.foldBits(), k - 22 - 3/math.Ln2/(1<<22)},
		// m = 3, rate 1/4, n = 2^10. ℓ = 3·4/2 = 6. s = 7: s⁵+24s = 16975;
		// times n·2^3 / 48 = 2897066.67 → 2897067; M/√ρ = 3.5·2 = 7.
		// 3ℓ + a = 18 + 2897074 = 2897092.
		{"johnson fold", codeBound{10, 2, 3, 0}.foldBits(), k - math.Log2(2897092)},
		// ℓ = 6: 18 pairs; 2 samples of 2^12/|K|: 2·(k−12) − log2 18.
		{"out of domain", codeBound{10, 2, 3, 0}.outOfDomainBits(12, 2), 2*(k-12) - math.Log2(18)},
		// 125 constraints, one codeword.
		{"join", codeBound{22, 2, 0, 0}.joinBits(125), k - math.Log2(125)},
		// 2^20 fractions of 4 columns: 2^20·2/|K|, with 8 bits of grinding.
		{"look-ups", LookUps("", 1<<20, 4, 8).Bits, k - 21 + 8},
		{"one column", LookUps("", 1<<20, 1, 0).Bits, k - 20},
		// L = 20: 20·61/2 = 610.
		{"fractional sum", FractionalSum("", 20).Bits, k - math.Log2(610)},
		{"sumcheck", Sumcheck("", 7, 3).Bits, k - math.Log2(3)},
		{"two claims", Join("", 2).Bits, k},
		{"four claims", Join("", 4).Bits, k - math.Log2(3)},
		{"a polynomial of degree 3", Point("", 3).Bits, k - math.Log2(3)},
		{"no claim", Join("", 0).Bits, k},
		{"a single claim", Join("", 1).Bits, k},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: %v bits, want %v", c.name, c.got.Float(), c.want)
		}
	}
	// ⌈84/0.678071905⌉ = ⌈123.88⌉ = 124 queries at rate 1/4 with 16 bits of
	// grinding, and ⌈100/0.678071905⌉ = ⌈147.48⌉ = 148 without.
	for grind, want := range map[int]int{16: 124, 0: 148} {
		c := DefaultConfig
		c.GrindBits = grind
		l := Level{RowVars: 10, LogBlowup: 2}
		if !c.secure(&l, 0) || l.Queries != want {
			t.Errorf("%d grinding bits: %d queries, want %d", grind, l.Queries, want)
		}
	}
}

// TestBadChallengesRounding checks that odd powers of √ρ are rounded up:
// ⌈5·2^(3/2)⌉ = ⌈14.142⌉ = 15.
func TestBadChallengesRounding(t *testing.T) {
	if got := mulSqrtPow2(big.NewInt(5), 3); got.Int64() != 15 {
		t.Errorf("%v", got)
	}
}

// TestMonotone: longer codes fold worse, lower rates need fewer queries, and a
// larger m trades the two.
func TestMonotone(t *testing.T) {
	for _, m := range []int{0, 3, 8} {
		for n := 5; n < MaxLogDomain; n++ {
			if (codeBound{n + 1, 2, m, 0}).foldBits() >= (codeBound{n, 2, m, 0}).foldBits() {
				t.Errorf("m=%d: a code of length 2^%d is no worse than one half as long", m, n+1)
			}
		}
		for b := 1; b < 10; b++ {
			if (codeBound{20, b + 1, m, 0}).perQuery() <= (codeBound{20, b, m, 0}).perQuery() {
				t.Errorf("m=%d: a query at rate 2^-%d gives no more", m, b+1)
			}
		}
	}
	for m := 3; m < 20; m++ {
		lo, hi := codeBound{20, 3, m, 0}, codeBound{20, 3, m + 1, 0}
		if hi.perQuery() <= lo.perQuery() || hi.foldBits() >= lo.foldBits() || hi.listSize().Cmp(lo.listSize()) < 0 {
			t.Errorf("m=%d", m)
		}
	}
}

func TestChooseReachesTarget(t *testing.T) {
	for _, mode := range []Mode{Unique, Johnson} {
		for n := range 33 {
			for _, sizes := range [][]uint64{{1 << n}, {1<<n + 1, 3, 1 << n / 3}} {
				c := DefaultConfig
				c.Mode = mode
				p, err := choose(c, sizes)
				if err != nil {
					t.Fatalf("%v, sizes %d: %v", mode, sizes, err)
				}
				if got := MinBits(p.Rounds()); got < WholeBits(c.TargetBits) {
					t.Errorf("%v, sizes %d: %v bits", mode, sizes, got)
				}
				checkShape(t, p)
			}
		}
	}
}

// checkShape checks that each level takes up where the last one ended.
func checkShape(t *testing.T, p *Params) {
	t.Helper()
	for i, l := range p.Levels {
		if l.LogDomain() > MaxLogDomain || l.FoldGrind > p.Config.GrindBits || l.QueryGrind > p.Config.GrindBits {
			t.Errorf("level %d is out of range: %+v", i, l)
		}
		if i > 0 && l.FoldVars+l.RowVars != p.Levels[i-1].RowVars {
			t.Errorf("level %d does not continue level %d", i, i-1)
		}
		if (l.Multiplicity > 0) != (l.OutOfDomain > 0) || i == 0 && l.Multiplicity > 0 || p.Config.Mode == Unique && l.Multiplicity > 0 {
			t.Errorf("level %d: multiplicity %d, %d samples", i, l.Multiplicity, l.OutOfDomain)
		}
	}
}

func TestDeriveRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			TargetBits: rapid.IntRange(1, 105).Draw(t, "target"),
			GrindBits:  rapid.IntRange(0, 20).Draw(t, "grind"),
			LogBlowup:  rapid.IntRange(1, 4).Draw(t, "blowup"),
			Mode:       Mode(rapid.IntRange(0, 1).Draw(t, "mode")),
		}
		p, err := Derive(c, rapid.IntRange(0, 24).Draw(t, "row"), rapid.Uint64Range(1, 1<<MaxFoldVars).Draw(t, "rows"))
		if err != nil {
			// Only what no amount of queries brings down may be out of reach.
			if c.TargetBits-c.GrindBits < 90 && c.Mode == Unique {
				t.Fatalf("%+v: %v", c, err)
			}
			return
		}
		if got := MinBits(p.Rounds()); got < WholeBits(c.TargetBits) {
			t.Fatalf("%+v: %v bits", p, got)
		}
	})
}

func TestRefused(t *testing.T) {
	c := DefaultConfig
	for name, err := range map[string]error{
		"nothing":   second(choose(c, nil)),
		"empty":     second(choose(c, []uint64{0})),
		"huge":      second(choose(c, []uint64{1 << 50})),
		"no rows":   second(Derive(c, 10, 0)),
		"long rows": second(Derive(c, 28, 1)),
		"many rows": second(Derive(c, 10, 1<<MaxFoldVars+1)),
		"target":    second(Derive(Config{TargetBits: 121, LogBlowup: 2}, 10, 1)),
		"reach":     second(Derive(Config{TargetBits: 118, LogBlowup: 2}, 20, 2)),
		"grind":     second(Derive(Config{TargetBits: 100, GrindBits: 25, LogBlowup: 2}, 10, 1)),
		"blowup":    second(Derive(Config{TargetBits: 100, LogBlowup: 0}, 10, 1)),
		"mode":      second(Derive(Config{TargetBits: 100, LogBlowup: 2, Mode: 2}, 10, 1)),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func second(_ *Params, err error) error { return err }

func BenchmarkDerive(b *testing.B) {
	for _, mode := range []Mode{Unique, Johnson} {
		b.Run(mode.String(), func(b *testing.B) {
			c := DefaultConfig
			c.Mode = mode
			for b.Loop() {
				if _, err := Derive(c, 20, 64); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
