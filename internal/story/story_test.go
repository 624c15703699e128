package story

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/story")

// The bundled model is what Write makes.
func TestBundled(t *testing.T) {
	const bundled = "../../testdata/story"
	if *update {
		if err := Write(bundled); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	there, err := os.ReadDir(bundled)
	if err != nil || len(there) != len(made) {
		t.Fatalf("%d files, and %d are made: %v", len(there), len(made), err)
	}
	for _, f := range made {
		want, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(bundled, f.Name())); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs: %v (go test ./internal/story -update writes it)", f.Name(), err)
		}
	}
}
