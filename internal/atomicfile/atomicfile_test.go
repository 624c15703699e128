package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
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

// Before Commit there is nothing to leave, on systems that have files without names.
func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	probe := createUnnamed(dir, "probe", 0o666)
	if probe == nil {
		t.Skip("no files without names here")
	}
	probe.Close()
	f, err := Create(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("content"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("there before Commit: %v", got)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(dir, "a")); got != "content" {
		t.Errorf("%q", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left over: %v", got)
	}
}

// What a killed process has left goes, what another one writes stays, and what looks
// like neither.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	touch := func(name string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-age)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	const old = 2 * staleAfter
	touch(".a."+rand.Text()+TempSuffix, old)
	stay := []string{".a." + rand.Text() + TempSuffix, ".b." + rand.Text() + TempSuffix, ".a.notes" + TempSuffix, "a." + rand.Text() + TempSuffix}
	touch(stay[0], 0)
	for _, name := range stay[1:] {
		touch(name, old)
	}
	if err := WriteFile(filepath.Join(dir, "a"), nil); err != nil {
		t.Fatal(err)
	}
	want := append(stay, "a")
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("%v are there, want %v", got, want)
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
