package cache

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestWork(t *testing.T) {
	if runtime.GOOS == "js" {
		t.Skip("no locks")
	}
	d := open(t)
	w, err := d.Work(id("a proof"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Work(id("a proof")); !errors.Is(err, ErrBusy) {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := w.Get("tree", 0); !errors.Is(err, ErrMiss) {
		t.Errorf("found in an empty folder: %v", err)
	}
	tree, fork := sample(3), &Entry{Extra: []byte("bytes")}
	if err := errors.Join(w.Put("tree", 0, tree), w.Put("fork", 0, fork), w.Close()); err != nil {
		t.Fatal(err)
	}
	// Another process goes on, and neither another proof nor another part is found.
	if w, err = d.Work(id("a proof")); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]*Entry{"tree": tree, "fork": fork} {
		if got, err := w.Get(kind, 0); err != nil || !cmp.Equal(got, want, cmpopts.EquateEmpty()) {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
		if _, err := w.Get(kind, 1); !errors.Is(err, ErrMiss) {
			t.Errorf("another %s: %v", kind, err)
		}
	}
	other, err := d.Work(id("another"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Get("fork", 0); !errors.Is(err, ErrMiss) {
		t.Errorf("another proof's: %v", err)
	}
	info, err := os.Stat(w.dir.path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// Old work is removed unless it is in use.
	old := time.Now().Add(-2 * workStaleAfter)
	if err := os.Chtimes(filepath.Join(other.dir.path, lockName), old, old); err != nil {
		t.Fatal(err)
	}
	sweep := func() {
		t.Helper()
		third, err := d.Work(id("a third"))
		if err != nil {
			t.Fatal(err)
		}
		if err := third.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	there := func(w *Work) bool { _, err := os.Stat(w.dir.path); return err == nil }
	if sweep(); !there(other) || !there(w) {
		t.Error("removed what is in use")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if sweep(); there(other) || !there(w) {
		t.Errorf("the old one is there: %t, the new one: %t", there(other), there(w))
	}
	if err := w.Remove(); err != nil || there(w) {
		t.Errorf("not removed: %v", err)
	}
}
