//go:build unix

package regular

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe that nobody writes to, a device and a folder are refused at once.
func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "pipe", dir: "folder", "/dev/zero": "device", filepath.Join(dir, "none"): "no such file"} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := Read(path, 10); err == nil {
			t.Errorf("%s is read", path)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := OpenIn(root, "pipe"); err == nil || !strings.Contains(err.Error(), "pipe: a pipe") {
		t.Error(err)
	}
	if f, err := OpenIn(root, "file"); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	if data, err := Read(link, 3); err != nil || string(data) != "abc" {
		t.Errorf("%q %v", data, err)
	}
	if _, err := Read(file, 2); err == nil || !strings.Contains(err.Error(), "more than 2 bytes") {
		t.Error(err)
	}
}
