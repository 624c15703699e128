package ledger

import "fmt"

// Share is a part of a key's budget: number Number of Of equal ones, 1 of 1 for all of it. The zero value names none.
type Share struct{ Number, Of int }

// whole is the share of a ledger that was never divided.
var whole = Share{1, 1}

func (s Share) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// Valid says whether there is such a share.
func (s Share) Valid() bool { return 1 <= s.Number && s.Number <= s.Of && s.Of <= 1<<20 }

// share is the share that the ledger has.
func (b *book) share() Share {
	if b.fresh() {
		return whole
	}
	return b.at[len(b.at)-1].share
}

// had says whether the ledger, or one that it was copied from, has had a share.
func (b *book) had(s Share) bool {
	for _, at := range b.at {
		if at.share == s {
			return true
		}
	}
	return false
}

// take says whether the ledger may take a share in the place where it is now, which is what it says of itself or tells
// what to write. A ledger is divided once, where it has been counted so far. A copy that was made afterwards has the number
// that it had, if it takes the place of the old one, or another number that none of the ledgers it was copied from has had.
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
