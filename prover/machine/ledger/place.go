package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// place is where a ledger is counted: digests of the machine and of its last start, and the file.
type place struct{ machine, boot, file string }

// entry is the line that says so, for a share of the rest.
func (p place) entry(share Share) string {
	return fmt.Sprintf("at %s %s %s %s", p.machine, p.boot, p.file, share)
}

// moved says what tells the place apart from where the ledger is now; "" if nothing does.
func (p place) moved(now place) string {
	switch {
	case p.machine != now.machine:
		return "it was counted on another machine"
	case p.boot != now.boot:
		return "the machine has been started anew since it was counted"
	case p.file != now.file:
		return "it was counted in another file"
	}
	return ""
}

// digest is a short digest of what identifies something, which may be of use to others as it is.
func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16] }

// errPlace says that a system has nothing to identify a place by.
var errPlace = errors.New("keys that hide weights are made and used on Linux and macOS alone: this system does not say when it was started, which tells ledgers from older copies")
