package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyOf is a copy of the ledger's file as it is now.
func copyOf(t *testing.T, l *Ledger) *Ledger {
	t.Helper()
	text, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// otherMachine has what this machine remembers be another's.
func otherMachine(t *testing.T) { t.Setenv("XDG_CONFIG_HOME", t.TempDir()) }

// TestShares: whatever copies are made, when and in which order, ledgers of one machine take no more positions together than
// there are: each share once.
func TestShares(t *testing.T) {
	l := made(t, 100)
	before := copyOf(t, l)
	if err := errors.Join(l.Reserve(ID{1}, 10), l.Claim(Share{2, 3}), l.Claim(Share{2, 3})); err != nil {
		t.Fatal(err)
	}
	if n := left(t, l); n != 30 {
		t.Fatalf("%d positions in a third of 90", n)
	}
	if b, err := l.Budget(); err != nil || b.OfShare() != ", in share 2/3" {
		t.Errorf("%+v, %v", b, err)
	}
	first, second := copyOf(t, l), copyOf(t, l)
	if err := l.Reserve(ID{2}, 30); err != nil {
		t.Fatal(err)
	}
	later := copyOf(t, l)
	for name, tc := range map[string]struct {
		err  error
		is   error
		want string
	}{
		"another number":           {l.Claim(Share{1, 3}), ErrShare, "it is share 2/3 of the budget, not 1/3"},
		"divided again":            {l.Claim(Share{1, 2}), ErrShare, "a ledger is divided once"},
		"all":                      {l.Claim(Share{1, 1}), ErrShare, "a ledger is divided once"},
		"all, before":              {before.Claim(Share{1, 1}), ErrMoved, "longer before"},
		"a copy divided":           {before.Claim(Share{1, 3}), ErrMoved, "say --share 1/3 first where it was"},
		"the same in another file": {first.Claim(Share{2, 3}), ErrMoved, "longer before"},
		"nothing said":             {first.Claim(Share{}), ErrMoved, "another file"},
		"of more":                  {first.Claim(Share{1, 4}), ErrShare, "a ledger is divided once"},
	} {
		if !errors.Is(tc.err, tc.is) || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, tc.err, tc.want)
		}
	}
	if err := errors.Join(first.Claim(Share{1, 3}), first.Reserve(ID{3}, 30)); err != nil {
		t.Fatal(err)
	}
	// The others have less than first, as much, and more than it: that is the same share in another file.
	for _, other := range []*Ledger{second, later, copyOf(t, later)} {
		if err := other.Claim(Share{1, 3}); !errors.Is(err, ErrMoved) {
			t.Errorf("share 1/3 in a second file: %v", err)
		}
	}
	if err := copyOf(t, first).Claim(Share{2, 3}); !errors.Is(err, ErrShare) || !strings.Contains(err.Error(), "take a number that is free") {
		t.Errorf("a share that the ledger had before it was copied: %v", err)
	}
	if err := errors.Join(second.Claim(Share{3, 3}), second.Reserve(ID{4}, 30)); err != nil {
		t.Fatal(err)
	}
	for _, used := range []*Ledger{l, first, second} {
		if err := used.Reserve(ID{5}, 1); !errors.Is(err, ErrUsedUp) {
			t.Errorf("beyond a share: %v", err)
		}
	}
}

// TestSharesElsewhere: what is refused by the file itself is refused on a machine that remembers nothing of the key. A share
// goes on in another file; the file before it is then refused where both are known.
func TestSharesElsewhere(t *testing.T) {
	l := made(t, 100)
	whole := copyOf(t, l)
	if err := l.Claim(Share{1, 2}); err != nil {
		t.Fatal(err)
	}
	half := copyOf(t, l)
	otherMachine(t)
	for name, err := range map[string]error{"undivided": whole.Claim(Share{2, 2}), "all": half.Claim(Share{1, 1}), "thirds": half.Claim(Share{2, 3})} {
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := errors.Join(half.Claim(Share{2, 2}), half.Reserve(ID{1}, 20)); err != nil {
		t.Fatal(err)
	}
	moved := copyOf(t, half)
	if err := errors.Join(moved.Claim(Share{2, 2}), moved.Reserve(ID{2}, 20)); err != nil {
		t.Fatal(err)
	}
	if err := half.Reserve(ID{3}, 20); !errors.Is(err, ErrMoved) {
		t.Errorf("the file that was moved away: %v", err)
	}
	if err := moved.Reserve(ID{3}, 20); !errors.Is(err, ErrUsedUp) {
		t.Errorf("60 positions of half of 100: %v", err)
	}
}

// TestHostileShares: a file that says of itself what no ledger would have written is refused.
func TestHostileShares(t *testing.T) {
	for _, ends := range [][]string{
		{"1/2", "1/3"}, {"1/2", "1/1"}, {"1/2", "2/2", "1/2"}, {"2"}, {"0/2"}, {"3/2"}, {"1/0"}, {"1/-1"}, {"01/2"}, {"1/2x"}, {"1/2000000"},
	} {
		b := newBook(Secret{Positions: 100})
		for _, share := range ends {
			b.add("at a b c " + share)
		}
		if _, err := parse(b.text); err == nil {
			t.Errorf("shares %v: read", ends)
		}
	}
	for _, old := range oldLines {
		if _, err := parse([]byte(old)); err == nil || !strings.Contains(err.Error(), "of an earlier release, whose keys this one does not make again") {
			t.Errorf("%q: %v", old, err)
		}
	}
}

// TestPossible: where no ledger can be kept, that shows before there is one; and the trial leaves nothing.
func TestPossible(t *testing.T) {
	dir := t.TempDir()
	if err := Possible(filepath.Join(dir, "m.vk.secret")); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := Possible(filepath.Join(dir, "none", "m.vk.secret")); err == nil {
		t.Error("a folder that is not there: no error")
	}
}
