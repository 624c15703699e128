package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const firstLine = "prove-model secret 3\n"

// oldLines are the first lines of files of earlier releases, which are refused. In format 1 shares had no numbers, so that two
// ledgers could have the same share. In format 2 other tails follow from the seed.
var oldLines = []string{"prove-model secret 1\n", "prove-model secret 2\n"}

// secretLines is how many lines after the first hold the secret.
const secretLines = 4

// newBook returns the book of a secret, without entries.
func newBook(s Secret) *book {
	b := &book{Secret: s, limit: s.Positions, text: []byte(firstLine)}
	for _, line := range []string{
		"seed " + hex.EncodeToString(s.Seed[:]),
		"key " + hex.EncodeToString(s.Key[:]),
		fmt.Sprintf("rows %d %d", s.RowVars, s.TailLog),
		fmt.Sprintf("positions %d", s.Positions),
	} {
		b.add(line)
	}
	return b
}

// book is the content of a ledger's file.
type book struct {
	Secret
	at       []entryAt         // "at" entries, oldest first: the last is where the ledger is counted
	reserved map[ID]uint64     // positions, by proof
	used     uint64            // sum of reserved
	limit    uint64            // the most that used may become: Secret.Positions, or less once the ledger is divided into shares
	text     []byte            // the whole lines of the file
	state    [sha256.Size]byte // SHA-256 chain over the lines after the first, from which checksums are taken
}

// seal returns a line with its checksum and line break, and the state after it. The checksum depends on all lines before.
func (b *book) seal(line string) (sealed []byte, state [sha256.Size]byte) {
	state = sha256.Sum256(append(b.state[:], line...))
	return fmt.Appendf(nil, "%s %x\n", line, state[:4]), state
}

// add adds a line to the text. It copies the text, so a copy of the book from before stays as it is.
func (b *book) add(line string) {
	sealed, state := b.seal(line)
	b.text, b.state = append(b.text[:len(b.text):len(b.text)], sealed...), state
}

// entryAt is an "at" entry: where a ledger is counted, and as which share.
type entryAt struct {
	place
	share Share
}

// left returns how many positions may still be opened.
func (b *book) left() uint64 { return b.limit - min(b.used, b.limit) }

// moved says in what way the place `now` differs from where the ledger was counted last, "" if it does not.
func (b *book) moved(now place) string { return b.at[len(b.at)-1].moved(now) }

// fresh says that the file has no entries yet.
func (b *book) fresh() bool { return len(b.at) == 0 }

// parse reads the text of a file. A last line without a line break is ignored.
func parse(text []byte) (*book, error) {
	for _, old := range oldLines {
		if bytes.HasPrefix(text, []byte(old)) {
			return nil, errors.New("it is the secret of an earlier release, whose keys this one does not make again: make another key (commit --hide weights), under another name")
		}
	}
	if !bytes.HasPrefix(text, []byte(firstLine)) {
		return nil, errors.New("it is not the secret of a key")
	}
	b := &book{reserved: map[ID]uint64{}, text: text[:len(firstLine):len(firstLine)]}
	for i := 0; ; i++ {
		end := bytes.IndexByte(text[len(b.text):], '\n')
		if end < 0 {
			break
		}
		whole := text[len(b.text) : len(b.text)+end+1]
		cut := bytes.LastIndexByte(whole, ' ')
		sealed, state := b.seal(string(whole[:max(cut, 0)]))
		if !bytes.Equal(sealed, whole) {
			return nil, fmt.Errorf("line %d is damaged: the ledger cannot be relied on", i+2)
		}
		if err := b.line(i, strings.Fields(string(whole[:cut]))); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		b.text, b.state = text[:len(b.text)+end+1:len(b.text)+end+1], state
	}
	if b.fresh() {
		return nil, errors.New("it is not complete: no proof was made with it")
	}
	return b, nil
}

// line reads line i of those after the first, split into words.
func (b *book) line(i int, words []string) error {
	switch {
	case i < secretLines:
		return b.secretLine(i, words)
	case len(words) == 5 && words[0] == "at":
		return b.atLine(place{words[1], words[2], words[3]}, words[4])
	case len(words) == 3 && words[0] == "used" && len(b.at) > 0:
		return b.usedLine(words[1], words[2])
	}
	return errors.New("no entry that this program knows")
}

// atLine reads an "at" entry. The first share that is not the whole divides what is left of the budget by the number of shares.
// After that the number of shares stays, and a number that the ledger had before does not come back.
func (b *book) atLine(in place, share string) error {
	at := entryAt{place: in}
	if _, err := fmt.Sscanf(share, "%d/%d", &at.share.Number, &at.share.Of); err != nil || !at.share.Valid() || at.share.String() != share {
		return fmt.Errorf("share %s", share)
	}
	switch now := b.share(); {
	case now == at.share: // in another place, or after another start
	case now == whole:
		b.limit = b.used + b.left()/uint64(at.share.Of)
	case now.Of != at.share.Of || b.had(at.share):
		return fmt.Errorf("share %s, after %s", at.share, now)
	}
	b.at = append(b.at, at)
	return nil
}

// usedLine reads a "used" entry: positions that were reserved for a proof, whose ID is in hexadecimal digits.
func (b *book) usedLine(proof, positions string) error {
	var n uint64
	if _, err := fmt.Sscan(positions, &n); err != nil || n > 1<<32 {
		return fmt.Errorf("%s positions", positions)
	}
	var id ID
	if err := setHex(id[:], proof); err != nil {
		return err
	}
	b.reserved[id] = n
	b.used += n
	return nil
}

// secretLine reads line i of the secret.
func (b *book) secretLine(i int, words []string) (err error) {
	names := [secretLines]string{"seed", "key", "rows", "positions"}
	if len(words) < 2 || words[0] != names[i] {
		return fmt.Errorf("it should begin with %s", names[i])
	}
	switch i {
	case 0:
		return setHex(b.Seed[:], words[1])
	case 1:
		return setHex(b.Key[:], words[1])
	case 2:
		_, err = fmt.Sscan(strings.Join(words[1:], " "), &b.RowVars, &b.TailLog)
	case 3:
		_, err = fmt.Sscan(words[1], &b.Positions)
		b.limit = b.Positions
	}
	return err
}

// setHex sets dst to the bytes that s has in hexadecimal digits, exactly as many.
func setHex(dst []byte, s string) error {
	if b, err := hex.DecodeString(s); err != nil || copy(dst, b) != len(dst) || len(b) != len(dst) {
		return fmt.Errorf("%q: want %d hexadecimal digits", s, 2*len(dst))
	}
	return nil
}
