package ledger

import "fmt"

// Share is a part of a key's budget: number Number, from 1 on, of Of equal parts; 1 of 1 is all of it. The zero value names no share.
type Share struct{ Number, Of int }

// whole is the share of a ledger that was never divided.
var whole = Share{1, 1}

// String returns the share as in "2/4".
func (s Share) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// Valid says whether Number is in 1…Of, and Of at most 2^20.
func (s Share) Valid() bool { return 1 <= s.Number && s.Number <= s.Of && s.Of <= 1<<20 }

// share returns the ledger's share, which is that of its last "at" entry.
func (b *book) share() Share {
	if b.fresh() {
		return whole
	}
	return b.at[len(b.at)-1].share
}

// had says whether the ledger has, or ever had, a share, also in a file that it was copied from.
func (b *book) had(s Share) bool {
	for _, at := range b.at {
		if at.share == s {
			return true
		}
	}
	return false
}

// take returns nil if the ledger may have the share `want` in the place `now`. It always may keep the share that it has: then it takes
// the place of the file that it was copied from. The whole may be divided, once, where it has been counted so far. After that a copy
// in another file may take another number of the same division that neither it nor a file it was copied from has had.
func (b *book) take(want Share, now place) (err error) {
	last := b.at[len(b.at)-1]
	moved := b.moved(now)
	switch {
	case want == last.share:
		return nil
	case last.share == whole && moved == "":
		return nil
	case last.share == whole:
		return fmt.Errorf("%w: %s, and it is not divided: say --share %s first where it was, and copy it then", ErrMoved, moved, want)
	case want.Of != last.share.Of:
		return fmt.Errorf("%w: it is share %s of the budget, not %s: a ledger is divided once", ErrShare, last.share, want)
	case last.file == now.file && last.machine == now.machine:
		return fmt.Errorf("%w: it is share %s of the budget, not %s, which is for a copy of it", ErrShare, last.share, want)
	case b.had(want):
		return fmt.Errorf("%w: %s, where it was share %s after it had been share %s elsewhere: take a number that is free", ErrShare, moved, last.share, want)
	}
	return nil
}
