package mapped

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prove-model/prove-model/internal/resident"
)

// What is written stays when the pages leave the process, which they do; and nothing is
// left in the folder.
func TestScratch(t *testing.T) {
	dir := t.TempDir()
	const n = 64 << 20
	f, err := Scratch(dir, n)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := f.Bytes()
	for i := 0; i < n; i += 4096 {
		if b[i] != 0 {
			t.Fatalf("byte %d is %d", i, b[i])
		}
		b[i] = byte(i>>12) | 1
	}
	full, ok := resident.Now()
	Trim()
	less, _ := resident.Now()
	if !ok || full.File-less.File < n/2 {
		t.Errorf("%d bytes of files in memory, %d after Trim", full.File, less.File)
	}
	for i := 0; i < n; i += 4096 {
		if b[i] != byte(i>>12)|1 {
			t.Fatalf("byte %d is %d after Trim", i, b[i])
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("%v in the folder, %v", list, err)
	}
	if _, err := Scratch(filepath.Join(dir, "none"), 1<<20); err == nil {
		t.Error("a scratch file in a folder that is not there")
	}
	if _, err := Scratch(dir, 1<<60); err == nil {
		t.Error("more than any disk has")
	}
}
