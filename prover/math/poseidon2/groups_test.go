package poseidon2

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestHashGroups states the definition with single permutations.
func TestHashGroups(t *testing.T) {
	if d := sampleDigest(3); HashGroups([]Digest{d}) != d {
		t.Error("one group is not its own leaf")
	}
	groups := []Digest{sampleDigest(1), sampleDigest(2), sampleDigest(5)}
	var s State
	s[8], s[9] = 3, 'g'<<24|'r'<<16|'p'<<8|'s'
	for _, d := range groups {
		copy(s[:8], d[:])
		Permute(&s)
	}
	got := HashGroups(groups)
	if got != Digest(s[:8]) {
		t.Errorf("%v, want %v", got, s[:8])
	}
	// Nothing else gives the same digest: not the elements as one message, nor
	// other numbers or orders of groups.
	flat := slices.Concat(groups[0][:], groups[1][:], groups[2][:])
	for name, other := range map[string]Digest{
		"elements": HashElements(flat),
		"order":    HashGroups([]Digest{groups[1], groups[0], groups[2]}),
		"fewer":    HashGroups(groups[:2]),
		"more":     HashGroups(append(slices.Clone(groups), Digest{})),
	} {
		if other == got {
			t.Errorf("%s: the same leaf", name)
		}
	}
}

// TestLeafHasher compares with HashGroups for any shape.
func TestLeafHasher(t *testing.T) { atEachLevel(t, leafHasher) }

func leafHasher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(0, 70).Draw(t, "columns")
		groups := make([][]Digest, rapid.IntRange(1, 5).Draw(t, "groups"))
		h := NewLeafHasher(columns, len(groups))
		for g := range groups {
			groups[g] = make([]Digest, columns)
			for c := range groups[g] {
				groups[g][c] = sampleDigest(g*columns + c)
			}
			h.Absorb(slices.Clone(groups[g]))
		}
		for c, got := range h.Sum() {
			column := make([]Digest, len(groups))
			for g := range groups {
				column[g] = groups[g][c]
			}
			if want := HashGroups(column); got != want {
				t.Fatalf("column %d of %d, %d groups: %v, want %v", c, columns, len(groups), got, want)
			}
		}
	})
}

// TestSaltedLeafHasher compares with HashSalted, which is no hash of groups.
func TestSaltedLeafHasher(t *testing.T) { atEachLevel(t, saltedLeafHasher) }

func saltedLeafHasher(t *testing.T) {
	for groups := 1; groups <= 3; groups++ {
		const columns = 37
		h := NewSaltedLeafHasher(columns, groups)
		lists := make([][]Digest, columns) // salts first
		for g := range groups + 1 {
			list := make([]Digest, columns)
			for c := range list {
				list[c] = sampleDigest(g*columns + c)
				lists[c] = append(lists[c], list[c])
			}
			h.Absorb(list)
		}
		for c, got := range h.Sum() {
			if got != HashSalted(lists[c][0], lists[c][1:]) || got == HashGroups(lists[c]) {
				t.Fatalf("column %d, %d groups: another leaf", c, groups)
			}
		}
	}
}

func TestLeafHasherRefusesWrongUse(t *testing.T) {
	column := make([]Digest, 1)
	for name, f := range map[string]func(){
		"no groups":       func() { NewLeafHasher(1, 0) },
		"hash of none":    func() { HashGroups(nil) },
		"salt alone":      func() { HashSalted(Digest{}, nil) },
		"no salted group": func() { NewSaltedLeafHasher(1, 0) },
		"too many groups": func() { h := NewLeafHasher(1, 1); h.Absorb(column); h.Absorb(column) },
		"too few groups":  func() { NewLeafHasher(1, 2).Sum() },
		"columns":         func() { NewLeafHasher(2, 2).Absorb(column) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Fatal("no panic")
				}
			}()
			f()
		})
	}
}
