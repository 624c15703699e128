package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/internal/atomicfile"
	"github.com/prove-model/prove-model/internal/regular"
)

// Secret is what a key that hides weights was made from, beside the model.
type Secret struct {
	// Seed determines the tails: the random elements behind the key's rows. With it and some proofs one can compute weights.
	Seed [32]byte
	// Key is the key's digest.
	Key [32]byte
	// RowVars is log2 of the length of rows. Tails have length 2^(RowVars−TailLog).
	RowVars, TailLog int
	// Positions is the key's budget: at how many positions all proofs together may open rows.
	Positions uint64
}

// NewSeed returns fresh random bytes.
func NewSeed() (seed [32]byte) {
	_, _ = rand.Read(seed[:]) // which ends the program if there are none
	return seed
}

// ID identifies a proof. Reserving positions for the same proof again takes nothing.
type ID [16]byte

// A Ledger is a secret with its ledger, in a file. It is safe for concurrent use, also by several processes.
type Ledger struct {
	Secret
	path  string
	input bool // the ledger is of an input's commitment, and not of a key; only messages depend on it
}

// OfInput marks the ledger as one of an input's commitment, for error messages, and returns it.
func (l *Ledger) OfInput() *Ledger {
	l.input = true
	return l
}

// Errors that callers tell apart.
var (
	// ErrUsedUp is wrapped by errors about a budget that does not suffice.
	ErrUsedUp            = errors.New("the key is used up")
	errInputUsedUp error = inputUsedUp{}
	// ErrMoved is wrapped by errors about a ledger that is not where it was counted, so that it may be an older copy.
	ErrMoved = errors.New("the ledger may be an older copy")
	// ErrOlder is wrapped, together with ErrMoved, by errors about a ledger that is an older copy for certain: naming a share does
	// not help.
	ErrOlder = errors.New("it was longer before")
	// ErrShare is wrapped by errors about a share that is not the ledger's.
	ErrShare = errors.New("the ledger has another share")
)

// inputUsedUp is ErrUsedUp for the commitment to an input.
type inputUsedUp struct{}

func (inputUsedUp) Error() string { return "the commitment to the input is used up" }

func (inputUsedUp) Unwrap() error { return ErrUsedUp }

// Create makes the file of a new secret, with a ledger in which nothing is used. The file must not exist.
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
	if err := b.append(f, at.entry(whole)); err != nil {
		return nil, err
	}
	remember(&s, whole, b)
	return &Ledger{Secret: s, path: path}, syncFolder(filepath.Dir(path))
}

// Possible returns nil if a ledger can be kept in the folder of path, else the reason why not. It tries what Create and the other
// methods need (a file, its place, a lock) with a temporary file.
func Possible(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "*"+atomicfile.TempSuffix)
	if err != nil {
		return err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	if _, err := placeOf(f); err != nil {
		return err
	}
	if err := lock(f); err != nil {
		return fmt.Errorf("%s: files cannot be locked there: %w", filepath.Dir(path), err)
	}
	return nil
}

// syncFolder has the names of the files in a folder written to disk (fsync).
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// Open reads a secret. It does not check whether proofs may be made with it here; Claim and Check do.
func Open(path string) (*Ledger, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Ledger{Secret: b.Secret, path: path}, nil
}

// Path returns the path of the file.
func (l *Ledger) Path() string { return l.path }

// Budget returns what the ledger says of the budget, without a check of where the ledger is. The caller sets Each.
func (l *Ledger) Budget() (*Budget, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := l.read(f)
	if err != nil {
		return nil, err
	}
	return &Budget{Positions: l.Positions, Left: b.left(), Share: b.share().String()}, nil
}

// Claim makes the place where the ledger is now the place where it is counted. If want is the zero Share, the ledger must be where it
// was counted before. Otherwise want must be the ledger's own share or one that it may take (book.take): by naming it the user says
// that this is the latest copy with that share. In both cases the ledger must not be older than what is remembered of its share.
func (l *Ledger) Claim(want Share) error {
	return l.locked(func(f *os.File, b *book, at place) error {
		had := b.share()
		if want == (Share{}) {
			want = had
			if err := l.refuse(b.moved(at)); err != nil {
				return err
			}
		}
		if err := b.take(want, at); err != nil {
			return fmt.Errorf("%s: %w", l.path, err)
		}
		// The share that is wanted is compared with what is remembered of it, not the share that the ledger had: a copy that takes
		// a new number may be older than the file that it was made from. When the whole is divided, both are compared.
		if err := l.notShorter(b, want); err != nil {
			return err
		}
		divides := had == whole && want != whole
		if divides {
			if err := l.notShorter(b, had); err != nil {
				return err
			}
		}
		if want != had || b.moved(at) != "" {
			if err := b.append(f, at.entry(want)); err != nil {
				return err
			}
		}
		if divides { // so that no copy of the undivided ledger is accepted from now on
			remember(&l.Secret, had, b)
		}
		remember(&l.Secret, want, b)
		return nil
	})
}

// Check returns an error if fewer than n times `positions` positions are left, or if the ledger is not where it was counted. It
// reserves nothing.
func (l *Ledger) Check(positions, n int) error {
	return l.use(func(_ *os.File, b *book) error {
		if uint64(n)*uint64(positions) > b.left() {
			return l.usedUp(b, positions, n)
		}
		return nil
	})
}

// Reserve counts positions for the proof with this identifier, once. When it returns nil, the entry is on disk, and the proof may
// open so many positions.
func (l *Ledger) Reserve(id ID, positions int) error {
	return l.use(func(f *os.File, b *book) error {
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

// usedUp is the error for n proofs of so many positions each that are more than what is left.
func (l *Ledger) usedUp(b *book, positions, n int) error {
	takes := fmt.Sprintf("a proof takes %d", positions)
	if n > 1 {
		takes += fmt.Sprintf(", and %d are asked for", n)
	}
	if l.input {
		return fmt.Errorf("%s: %w: it may be opened at %d more positions, and %s: commit to the input again (commit-input)", l.path, errInputUsedUp, b.left(), takes)
	}
	return fmt.Errorf("%w: its weights may be opened at %d more positions, and %s: make another key (commit --hide weights)", ErrUsedUp, b.left(), takes)
}

// refuse returns the error of a ledger that has moved, where moved says how (book.moved); nil if it is "".
func (l *Ledger) refuse(moved string) error {
	if moved == "" {
		return nil
	}
	return fmt.Errorf("%s: %w: %s. Positions that other copies have opened are not in it", l.path, ErrMoved, moved)
}

// notShorter returns an error if the ledger's text does not begin with the text that is remembered of a share.
func (l *Ledger) notShorter(b *book, of Share) error {
	switch known := remembered(&l.Secret, of); {
	case known.begins(b):
		return nil
	case known.length > len(b.text):
		return fmt.Errorf("%s: %w: %w. What was opened since is not in it: make another key (commit --hide weights)", l.path, ErrMoved, ErrOlder)
	}
	return fmt.Errorf("%s: %w: share %s was counted in another file, whose positions are not in it", l.path, ErrMoved, of)
}

// use calls f with the ledger, under the lock, if it is where it was counted and not older than what is remembered. Afterwards it
// remembers the ledger.
func (l *Ledger) use(f func(file *os.File, b *book) error) error {
	return l.locked(func(file *os.File, b *book, at place) error {
		if err := l.refuse(b.moved(at)); err != nil {
			return err
		}
		if err := l.notShorter(b, b.share()); err != nil {
			return err
		}
		err := f(file, b)
		remember(&l.Secret, b.share(), b) // also what an earlier process has written, if it ended before it came here
		return err
	})
}

// locked calls f with the ledger under two locks, always taken in this order: that of the file, so that no other process changes it
// meanwhile, then that of the memory folder (lockMemory). A file that users other than its owner may read is refused.
func (l *Ledger) locked(f func(file *os.File, b *book, at place) error) error {
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
	defer lockMemory()()
	return f(file, b, at)
}

// private returns an error if anyone but the owner may read or write the file, as may be with a copy.
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

// read reads the file, and fails if it has become that of another secret.
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

// append writes an entry after the last whole line, over what a process may have left of an unfinished one, and waits until it is on
// disk. The first entry is written together with the secret before it. If that fails, the book is as it was.
func (b *book) append(f *os.File, entry string) (err error) {
	before := *b
	defer func() {
		if err != nil {
			*b = before
		}
	}()
	end := len(b.text)
	if b.fresh() { // nothing of the book is in the file yet
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

// maxFile is the most bytes of a ledger that are read: enough for about a million proofs.
const maxFile = 1 << 27

// read reads and parses a file.
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

// Budget says how far a key that hides weights is used up. A proof opens rows of the weights at some positions, and as long as
// all proofs together open no more than Positions, what they open says nothing of the weights.
type Budget struct {
	Positions uint64 `json:"positions"`            // how many positions all proofs together may open
	Left      uint64 `json:"positions_left"`       // how many of them are left, in the ledger's share
	Share     string `json:"share"`                // the share of the budget that the ledger counts; 1/1 is all
	Each      int    `json:"positions_of_a_proof"` // the most positions that one proof takes
}

// Proofs returns for how many more proofs what is left suffices.
func (b *Budget) Proofs() uint64 { return b.Left / uint64(b.Each) }

// OfShare names the share for a message, as in ", in share 2/4". It is empty if the share is all of the budget.
func (b *Budget) OfShare() string {
	if b.Share == whole.String() {
		return ""
	}
	return ", in share " + b.Share
}
