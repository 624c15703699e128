package ledger

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/internal/atomicfile"
)

// memory is what the user's configuration folder remembers of the ledger of a share: the length of its text in bytes, and a digest of
// it. Restoring an older copy of the ledger's file does not restore an older memory, so the copy is noticed.
type memory struct {
	length int // 0: nothing is remembered
	digest string
}

// memoryOf returns the memory of a text.
func memoryOf(text []byte) memory {
	return memory{len(text), fmt.Sprintf("%x", sha256.Sum256(text))[:16]}
}

// begins says whether a book's text begins with the text that was remembered, or nothing was.
func (m memory) begins(b *book) bool {
	return m.length == 0 || 0 < m.length && m.length <= len(b.text) && m == memoryOf(b.text[:m.length])
}

// lockMemory locks the folder of memories until free is called, so that a process that uses another file with the same share waits.
// If the folder cannot be locked, it goes on without the lock.
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

// remember writes the memory of a share's ledger. An error is ignored: the memory is a second safeguard, beside the place.
func remember(s *Secret, of Share, b *book) {
	now := memoryOf(b.text)
	path, ok := memoryPath(s, of)
	if !ok || now == remembered(s, of) || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = atomicfile.WriteFile(path, fmt.Appendln(nil, now.length, now.digest)) // atomically, so it is the old or the new one
}

// remembered returns what remember has written for a share, the zero memory if there is nothing or it cannot be read.
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

// memoryFolder returns the folder of memories, in the user's configuration folder.
func memoryFolder() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "prove-model", "ledgers"), err
}

// memoryPath returns the file of a share's memory, and false if there is no configuration folder.
func memoryPath(s *Secret, of Share) (path string, ok bool) {
	dir, err := memoryFolder()
	return filepath.Join(dir, fmt.Sprintf("%x-%d-of-%d", s.Key[:8], of.Number, of.Of)), err == nil
}
