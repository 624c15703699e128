package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// place is where a ledger is counted: digests of the machine's identity and of that of its last start, and the file by device and
// inode numbers.
type place struct{ machine, boot, file string }

// entry returns the "at" line for the place and a share.
func (p place) entry(share Share) string {
	return fmt.Sprintf("at %s %s %s %s", p.machine, p.boot, p.file, share)
}

// moved says in what way the place `now` differs from p, "" if it does not.
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

// digest returns a short digest of an identifier. The file holds the digest, as others could use the identifier itself.
func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16] }

// errPlace says that the operating system does not tell what identifies a place.
var errPlace = errors.New("keys that hide weights are made and used on Linux and macOS alone: this system does not say when it was started, which tells ledgers from older copies")
