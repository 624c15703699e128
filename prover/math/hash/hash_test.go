package hash

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// eachSuite runs a test for every suite.
func eachSuite(t *testing.T, test func(t *testing.T, suite Suite)) {
	for _, suite := range All() {
		t.Run(suite.String(), func(t *testing.T) { test(t, suite) })
	}
}

func TestNames(t *testing.T) {
	for _, suite := range All() {
		if got, err := Parse(suite.String()); err != nil || got != suite || !suite.Valid() {
			t.Errorf("%s: %v, %v", suite, got, err)
		}
	}
	if _, err := Parse("md5"); err == nil || suites.Valid() || Suite(7).String() != "Suite(7)" {
		t.Errorf("a suite that is none: %v", err)
	}
}

func TestGroups(t *testing.T) {
	for n, want := range map[int][]int{1: {1}, 256: {256}, 257: {256, 1}, 1000: {256, 256, 256, 232}} {
		if got := Blake3.Groups(n); !slices.Equal(got, want) {
			t.Errorf("%d rows: %d", n, got)
		}
		if got := Poseidon2.Groups(n); !slices.Equal(got, []int{n}) {
			t.Errorf("%d rows: %d", n, got)
		}
	}
}

// random returns rows of random elements.
func random(rng *rand.Rand, rows, columns int) [][]field.M31 {
	m := make([][]field.M31, rows)
	for i := range m {
		m[i] = make([]field.M31, columns)
		for j := range m[i] {
			m[i][j] = field.M31(rng.Uint32N(field.P))
		}
	}
	return m
}

// columns hashes the columns of a group.
func columns(h Columns, rows [][]field.M31) []Digest {
	h.AbsorbRows(rows)
	d := make([]Digest, len(rows[0]))
	h.Sum(d)
	return d
}

// TestColumnsInParts: ranges of columns, in any order and at the same time, give the digests of whole rows; ranges that
// cut a vector of sixteen, and other rows than announced, are programmer's errors.
func TestColumnsInParts(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite Suite) {
		const width = 5*16 + 3
		height := 2*suite.RowsAtOnce() + 5
		rows := random(rand.New(rand.NewPCG(3, 4)), height, width)
		want := columns(suite.NewColumns(width, height), rows)
		h := suite.NewColumns(width, height)
		for first := 0; first < height; {
			n := min(suite.RowsAtOnce(), height-first)
			absorb := h.Next(n)
			part := func(from, to int) [][]field.M31 {
				list := make([][]field.M31, n)
				for i := range list {
					list[i] = rows[first+i][from:to]
				}
				return list
			}
			var wait sync.WaitGroup
			for _, r := range [][2]int{{64, width}, {0, 16}, {16, 64}} {
				wait.Go(func() { absorb(r[0], part(r[0], r[1])) })
			}
			wait.Wait()
			for name, f := range map[string]func(){
				"from the middle": func() { absorb(8, part(8, 16)) },
				"to the middle":   func() { absorb(0, part(0, 8)) },
				"another number":  func() { absorb(0, part(0, 16)[1:]) },
			} {
				if n > 1 && !panics(f) {
					t.Errorf("%s: no panic", name)
				}
			}
			first += n
		}
		got := make([]Digest, width)
		h.Sum(got)
		if !slices.Equal(got, want) {
			t.Error("other digests than of whole rows")
		}
	})
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// TestUsesAreApart: what is hashed for one use is never what it is for another.
func TestUsesAreApart(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite Suite) {
		rng := rand.New(rand.NewPCG(1, 2))
		rows := random(rng, 16, 3)
		column := columns(suite.NewColumns(3, 16), rows)
		// The same sixteen words as two digests.
		pair := make([]Digest, 2)
		for i := range rows {
			pair[i/8][i%8] = uint32(rows[i][0])
		}
		node := make([]Digest, 1)
		suite.Parents(node, pair)
		leaves := suite.NewLeaves(1, 2)
		leaves.Absorb([]Digest{pair[0]})
		leaves.Absorb([]Digest{pair[1]})
		digests := []Digest{column[0], node[0], leaves.Sum()[0]}
		if suite == Blake3 { // where a public column is no column of a group either
			digests = append(digests, columns(suite.NewPublicColumns(3, 16), rows)[0])
		}
		for i, d := range digests {
			if slices.Contains(digests[:i], d) {
				t.Errorf("use %d gives the digest of another", i)
			}
		}
	})
}

// TestLeaves: with one group its digests are the leaves, with several these depend on every one, in its place.
func TestLeaves(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite Suite) {
		group := func(n uint32) []Digest { return []Digest{{n}, {n, n}} }
		leaves := func(groups ...uint32) []Digest {
			l := suite.NewLeaves(2, len(groups))
			for _, g := range groups {
				l.Absorb(group(g))
			}
			return l.Sum()
		}
		if !slices.Equal(leaves(7), group(7)) {
			t.Error("one group: other leaves than its digests")
		}
		seen := [][]Digest{leaves(7), leaves(7, 8), leaves(8, 7), leaves(7, 8, 9), leaves(7, 8, 0)}
		for i, a := range seen {
			for _, b := range seen[:i] {
				if slices.Equal(a, b) {
					t.Errorf("leaves %d are those of other groups", i)
				}
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("fewer groups than announced: no panic")
				}
			}()
			suite.NewLeaves(2, 1).Sum()
		}()
	})
}

// TestTry: the least nonce of a range, or none.
func TestTry(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite Suite) {
		work := suite.NewTranscript("try").Work(5)
		first, ok := work.Try(0, 1<<12)
		if !ok {
			t.Fatal("no nonce")
		}
		if nonce, ok := work.Try(first, 1); !ok || nonce != first {
			t.Errorf("%d alone: %d, %t", first, nonce, ok)
		}
		if nonce, ok := work.Try(0, int(first)); ok {
			t.Errorf("%d below the least, %d", nonce, first)
		}
		if next, ok := work.Try(first+1, 1<<12); !ok || next <= first {
			t.Errorf("%d behind %d, %t", next, first, ok)
		}
	})
}

// BenchmarkColumns hashes columns of 256 rows.
func BenchmarkColumns(b *testing.B) {
	const width, height = 1 << 14, 256
	for _, suite := range All() {
		b.Run(suite.String(), func(b *testing.B) {
			rows := random(rand.New(rand.NewPCG(1, 2)), suite.RowsAtOnce(), width)
			h, d := suite.NewColumns(width, height), make([]Digest, width)
			b.SetBytes(4 * width * height)
			for b.Loop() {
				h.Reset(height)
				for range height / len(rows) {
					h.AbsorbRows(rows)
				}
				h.Sum(d)
			}
		})
	}
}

// BenchmarkParents hashes a layer of a tree.
func BenchmarkParents(b *testing.B) {
	const n = 1 << 14
	for _, suite := range All() {
		b.Run(suite.String(), func(b *testing.B) {
			children, parents := make([]Digest, 2*n), make([]Digest, n)
			b.SetBytes(2 * n * DigestBytes)
			for b.Loop() {
				suite.Parents(parents, children)
			}
		})
	}
}

// TestAbsorbColumns: leaves of columns are those of the columns' digests, salted or not, for any number of columns and groups.
func TestAbsorbColumns(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite Suite) {
		rng := rand.New(rand.NewPCG(1, 9))
		for _, columns := range []int{1, 2, 16, 31, 300} {
			for groups := 1; groups <= 4; groups++ {
				salts := make([]Digest, columns)
				for i := range salts {
					salts[i] = Digest{uint32(i), 7}
				}
				for _, salted := range []bool{false, true} {
					var whole, apart Leaves
					if salted {
						whole, apart = suite.NewSaltedLeaves(columns, groups), suite.NewSaltedLeaves(columns, groups)
						whole.Absorb(slices.Clone(salts))
						apart.Absorb(slices.Clone(salts))
					} else {
						whole, apart = suite.NewLeaves(columns, groups), suite.NewLeaves(columns, groups)
					}
					one, other := suite.NewColumns(columns, 0), suite.NewColumns(columns, 0)
					for n := range groups {
						rows := make([][]field.M31, 3*n) // of the first group none
						for i := range rows {
							rows[i] = make([]field.M31, columns)
							for k := range rows[i] {
								rows[i][k] = field.M31(rng.Uint32N(field.P))
							}
						}
						one.Reset(len(rows))
						other.Reset(len(rows))
						if len(rows) > 0 {
							one.AbsorbRows(rows)
							other.AbsorbRows(rows)
						}
						digests := make([]Digest, columns)
						one.Sum(digests)
						apart.Absorb(digests)
						whole.AbsorbColumns(other)
					}
					if !slices.Equal(whole.Sum(), apart.Sum()) {
						t.Errorf("%d columns in %d groups, salted %v: other leaves", columns, groups, salted)
					}
				}
			}
		}
	})
}

// TestSaltedLeaves: a salted leaf depends on its salt and on every group, with one group too, and is no leaf without a salt.
func TestSaltedLeaves(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite Suite) {
		leaves := func(new func(leaves, groups int) Leaves, groups int, digests ...uint32) Digest {
			l := new(2, groups)
			for _, d := range digests {
				l.Absorb([]Digest{{d}, {d, d}})
			}
			return l.Sum()[1]
		}
		var seen []Digest
		for _, d := range []Digest{
			leaves(suite.NewSaltedLeaves, 1, 7, 8), leaves(suite.NewSaltedLeaves, 1, 9, 8), leaves(suite.NewSaltedLeaves, 1, 7, 9),
			leaves(suite.NewSaltedLeaves, 2, 7, 8, 9), leaves(suite.NewSaltedLeaves, 2, 7, 9, 8),
			leaves(suite.NewLeaves, 1, 8), leaves(suite.NewLeaves, 2, 7, 8), leaves(suite.NewLeaves, 3, 7, 8, 9),
		} {
			if slices.Contains(seen, d) {
				t.Error("two leaves are one")
			}
			seen = append(seen, d)
		}
		defer func() {
			if recover() == nil {
				t.Error("a salt alone: no panic")
			}
		}()
		suite.NewSaltedLeaves(2, 0)
	})
}
