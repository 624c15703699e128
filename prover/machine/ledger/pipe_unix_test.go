//go:build unix

package ledger

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in a secret's place is refused, not waited for.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.secret")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "a pipe") {
		t.Errorf("%v", err)
	}
}
