package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCommitAndAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("first"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there before Commit: %v", err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Fatalf("Abort after Commit: %v", err)
	}
	if err := f.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Fatalf("Commit twice: %v", err)
	}
	g, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.WriteString("second"); err != nil {
		t.Fatal(err)
	}
	if err := g.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := g.Commit(); err == nil {
		t.Fatal("Commit after Abort")
	}
	if got := content(t, path); got != "first" {
		t.Fatalf("after Abort: %q", got)
	}
	if err := WriteFile(path, []byte("third")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != "third" {
		t.Fatalf("after WriteFile: %q", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Fatalf("left over: %v", got)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "no", "such", "folder")} {
		if f, err := Create(path); err == nil {
			f.Abort()
			t.Errorf("%s: accepted", path)
		}
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
}

// A failed rename leaves nothing behind.
func TestCommitFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	// A folder that came to be there in the meantime cannot be replaced.
	if err := os.MkdirAll(filepath.Join(path, "b"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil {
		t.Fatal("replaced a folder")
	}
	if got := names(t, dir); len(got) != 1 {
		t.Fatalf("left over: %v", got)
	}
}

func TestKeepsLinksAndModes(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "js" {
		t.Skip("needs symbolic links and Unix permissions")
	}
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(real, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, real); got != "new" {
		t.Errorf("behind the link: %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode changed: %v %v", info.Mode(), err)
	}
}
