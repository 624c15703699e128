package mapped

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Contents are the same whether a file is mapped or read, and whatever advice was
// given about them.
func TestRead(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 12, 2<<20 + 5} {
		want := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, n/7+1)[:n]
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range [][]byte{f.Bytes(), f.Bytes()[n/3 : n/3], f.Bytes()[n/3 : n-n/5]} {
			f.Will(part)
			f.Done(part)
		}
		if !bytes.Equal(f.Bytes(), want) {
			t.Errorf("%d bytes: they differ", n)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error("closed twice:", err)
		}
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder is read")
	}
}

func TestFloat32s(t *testing.T) {
	raw := []byte{0, 0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0, 9}
	for from, want := range map[int][]float32{0: {math.Float32frombits(0x80000000), math.Float32frombits(0x2000003f)}, 1: {1, -2.5}} {
		got := Float32s(raw[from:], 2)
		if !slices.Equal(got, want) {
			t.Errorf("from %d on: %v, want %v", from, got, want)
		}
	}
	if v := Float32s(nil, 0); v == nil || len(v) != 0 {
		t.Error("none are nil")
	}
}
