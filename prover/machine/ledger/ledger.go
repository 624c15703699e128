package ledger

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/internal/atomicfile"
)

// Secret is what a key that hides weights was made from, beside the model.
type Secret struct {
	// Seed is what the tails of the key's rows follow from. Whoever has it, and proofs, computes weights.
	Seed [32]byte
	// Key is the key's digest.
	Key [32]byte
	// RowVars is log2 of the length of rows, and a 2^TailLog-th of that is the length of tails.
	RowVars, TailLog int
	// Positions is at how many positions all proofs together may open rows.
	Positions uint64
}

// NewSeed returns fresh random bytes.
func NewSeed() (seed [32]byte) {
	_, _ = rand.Read(seed[:]) // which ends the program if there are none
	return seed
}

// ID identifies a proof: reserving for it again takes nothing.
type ID [16]byte

// A Ledger is a secret with its ledger, in a file. It is safe for concurrent use, also by several processes.
type Ledger struct {
	Secret
	path string
}

// Errors that callers tell apart.
var (
	// ErrUsedUp is wrapped by errors about a budget that does not suffice.
	ErrUsedUp = errors.New("the key is used up")
	// ErrMoved is wrapped by errors about a ledger that is not where it was counted.
	ErrMoved = errors.New("the ledger may be an older copy")
)

// Create makes the file of a new secret, which must not be there, with an empty ledger.
func Create(path string, s Secret) (_ *Ledger, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	at, err := placeOf(f)
	if err != nil {
		return nil, err
	}
	b := newBook(s)
	if err := b.append(f, at.entry(1)); err != nil {
		return nil, err
	}
	remember(&s, at, len(b.text))
	return &Ledger{s, path}, syncFolder(filepath.Dir(path))
}

// syncFolder has the names in a folder be on disk.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// Open reads a secret. It says nothing yet of whether proofs may be made with it.
func Open(path string) (*Ledger, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Ledger{b.Secret, path}, nil
}

// Is says whether a file begins as those of this package do.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(firstLine)) }

// Path returns the path of the file.
func (l *Ledger) Path() string { return l.path }

// Left returns the number of positions that the ledger has left, wherever it is.
func (l *Ledger) Left() (left uint64, err error) {
	f, err := os.Open(l.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b, err := l.read(f)
	if err != nil {
		return 0, err
	}
	return b.left(), nil
}

// Claim takes the ledger for the place where it is now. With share 0 it must be where it was before. A share of n > 0 says
// that it is meant to be used here, for one n-th of what was left: where it has been counted so far, that divides the rest
// once; elsewhere n must be what the ledger's part of the rest already is, so that copies of it have no more together than
// there was.
func (l *Ledger) Claim(share int) error {
	return l.change(func(f *os.File, b *book, at place) error {
		last := b.at[len(b.at)-1]
		moved := last.moved(at)
		switch {
		case share == 0 || moved == "" && share == last.share:
			return l.refuse(moved)
		case moved != "" && share != last.share:
			return fmt.Errorf("%s: %w: %s, and its share is 1/%d, not 1/%d: a ledger is divided where it has been counted so far, before it is copied",
				l.path, ErrMoved, moved, last.share, share)
		}
		return b.append(f, at.entry(share))
	})
}

// Check returns an error if so many positions for a proof, for each of n proofs, are not left, or the ledger is not where it was.
func (l *Ledger) Check(positions, n int) error {
	return l.change(func(_ *os.File, b *book, at place) error {
		if err := l.refuse(b.at[len(b.at)-1].moved(at)); err != nil {
			return err
		}
		if uint64(n)*uint64(positions) > b.left() {
			return l.usedUp(b, positions, n)
		}
		return nil
	})
}

// Reserve counts positions for the proof with this identifier. When it returns, they are on disk.
func (l *Ledger) Reserve(id ID, positions int) error {
	return l.change(func(f *os.File, b *book, at place) error {
		if err := l.refuse(b.at[len(b.at)-1].moved(at)); err != nil {
			return err
		}
		if n, ok := b.reserved[id]; ok {
			if n == uint64(positions) {
				return nil
			}
			return fmt.Errorf("%s: %d positions were reserved for this proof, and it takes %d", l.path, n, positions)
		}
		if uint64(positions) > b.left() {
			return l.usedUp(b, positions, 1)
		}
		return b.append(f, fmt.Sprintf("used %s %d", hex.EncodeToString(id[:]), positions))
	})
}

func (l *Ledger) usedUp(b *book, positions, n int) error {
	takes := fmt.Sprintf("a proof takes %d", positions)
	if n > 1 {
		takes += fmt.Sprintf(", and %d are asked for", n)
	}
	return fmt.Errorf("%w: its weights may be opened at %d more positions, and %s: make another key (commit --hide weights)", ErrUsedUp, b.left(), takes)
}

// refuse is the error of a ledger that has moved.
func (l *Ledger) refuse(moved string) error {
	if moved == "" {
		return nil
	}
	return fmt.Errorf("%s: %w: %s. Positions that other copies have opened are not in it", l.path, ErrMoved, moved)
}

// change calls f with the ledger, which no other process changes meanwhile. One that is shorter than it was is refused, and
// one that others may read.
func (l *Ledger) change(f func(file *os.File, b *book, at place) error) error {
	file, err := os.OpenFile(l.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := lock(file); err != nil {
		return fmt.Errorf("%s: cannot be locked: %w", l.path, err)
	}
	if err := l.private(file); err != nil {
		return err
	}
	b, err := l.read(file)
	if err != nil {
		return err
	}
	at, err := placeOf(file)
	if err != nil {
		return err
	}
	known := remembered(&l.Secret, at)
	if known > len(b.text) {
		return fmt.Errorf("%s: %w: it was longer before. What was opened since is not in it: make another key (commit --hide weights)", l.path, ErrMoved)
	}
	err = f(file, b, at)
	if len(b.text) > known { // also after a process that ended between its entry and this
		remember(&l.Secret, at, len(b.text))
	}
	return err
}

// private is an error if others than the owner may read or write the file, as they may a copy that was made without care.
func (l *Ledger) private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s: others may open the file (mode %04o), and who has it computes weights from proofs: chmod 600", l.path, mode)
	}
	return nil
}

// read reads the file, which must still be that of the secret.
func (l *Ledger) read(f *os.File) (*book, error) {
	b, err := read(f)
	if err == nil && b.Secret != l.Secret {
		err = errors.New("it has become the secret of another key")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.path, err)
	}
	return b, nil
}

// append writes an entry behind the last whole one, and has it be on disk.
func (b *book) append(f *os.File, entry string) error {
	end := len(b.text)
	if b.fresh() { // with all before it
		end = 0
	}
	b.add(entry)
	if err := f.Truncate(int64(end)); err != nil {
		return err
	}
	if _, err := f.WriteAt(b.text[end:], int64(end)); err != nil {
		return err
	}
	return f.Sync()
}

// maxFile bounds the bytes of a file that is read: some million proofs.
const maxFile = 1 << 27

func read(f *os.File) (*book, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, errors.New("it is too long for a ledger")
	}
	return parse(text)
}

// remember keeps how long a ledger is where a copy of its file does not bring it back. What cannot be kept is done without.
func remember(s *Secret, at place, length int) {
	path, ok := memory(s, at)
	if !ok || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = atomicfile.WriteFile(path, fmt.Appendln(nil, length)) // the old number or the new one, whenever the process ends
}

// remembered is what remember has kept, 0 if nothing.
func remembered(s *Secret, at place) (length int) {
	path, ok := memory(s, at)
	if !ok {
		return 0
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return 0
	}
	_, _ = fmt.Sscan(string(text), &length)
	return length
}

func memory(s *Secret, at place) (path string, ok bool) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "prove-model", "ledgers", fmt.Sprintf("%x-%s", s.Key[:8], at.file)), err == nil
}

// Budget says how far a key that hides weights is used up. A proof opens rows of the weights at some positions, and as long as
// all proofs together open no more than Positions, what they open says nothing of the weights.
type Budget struct {
	Positions uint64 `json:"positions"`            // at which all proofs together may open rows
	Left      uint64 `json:"positions_left"`       // of these
	Each      int    `json:"positions_of_a_proof"` // most that a proof takes
}

// Proofs returns for how many more proofs the key is good.
func (b *Budget) Proofs() uint64 { return b.Left / uint64(b.Each) }
