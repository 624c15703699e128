package ledger

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/internal/atomicfile"
)

// memory is what the user's configuration folder keeps of the ledger of a share: how long it was, and what was in it. A copy of
// the ledger's file does not bring it back.
type memory struct {
	length int
	digest string
}

func memoryOf(text []byte) memory {
	return memory{len(text), fmt.Sprintf("%x", sha256.Sum256(text))[:16]}
}

// begins says whether a book goes on from what was remembered.
func (m memory) begins(b *book) bool {
	return m.length == 0 || 0 < m.length && m.length <= len(b.text) && m == memoryOf(b.text[:m.length])
}

// lockMemory has other processes wait that use another file with the same share, until free is called. Where the folder cannot be
// locked that is done without.
func lockMemory() (free func()) {
	dir, err := memoryFolder()
	if err != nil {
		return func() {}
	}
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	_ = lock(f)
	return func() { _ = f.Close() }
}

// remember keeps how long the ledger of a share is. What cannot be kept is done without.
func remember(s *Secret, of Share, b *book) {
	now := memoryOf(b.text)
	path, ok := memoryPath(s, of)
	if !ok || now == remembered(s, of) || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = atomicfile.WriteFile(path, fmt.Appendln(nil, now.length, now.digest)) // the old one or the new one, whenever the process ends
}

// remembered is what remember has kept, nothing if that cannot be read.
func remembered(s *Secret, of Share) (m memory) {
	path, ok := memoryPath(s, of)
	if !ok {
		return m
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return m
	}
	if _, err := fmt.Sscan(string(text), &m.length, &m.digest); err != nil {
		return memory{}
	}
	return m
}

// memoryFolder is the folder of what is remembered.
func memoryFolder() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "prove-model", "ledgers"), err
}

func memoryPath(s *Secret, of Share) (path string, ok bool) {
	dir, err := memoryFolder()
	return filepath.Join(dir, fmt.Sprintf("%x-%d-of-%d", s.Key[:8], of.Number, of.Of)), err == nil
}
