package cache

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prove-model/prove-model/internal/atomicfile"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// sample returns an entry with the layers of a tree of 2^depth leaves, none
// for a negative depth.
func sample(depth int) *Entry {
	e := &Entry{Key: []byte("key"), Extra: []byte("calibration")}
	x := field.M31(1)
	for n := depth; n >= 0; n-- {
		layer := make([]hash.Digest, 1<<n)
		for i := range layer {
			for j := range layer[i] {
				x = x.Mul(48271)
				layer[i][j] = uint32(x)
			}
		}
		e.Layers = append(e.Layers, layer)
	}
	return e
}

func open(t *testing.T) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func id(parts ...string) ID {
	h := NewHasher()
	for _, p := range parts {
		h.Add(p, []byte(p))
	}
	return h.ID()
}

func TestRoundTrip(t *testing.T) {
	d := open(t)
	// 2^13 leaves take several batches.
	for _, depth := range []int{-1, 0, 1, 5, 13} {
		e := sample(depth)
		if err := d.Put(id("a"), e); err != nil {
			t.Fatal(err)
		}
		got, err := d.Get(id("a"))
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(e, got, cmpopts.EquateEmpty()) {
			t.Fatalf("depth %d: entry changed", depth)
		}
	}
	if _, err := d.Get(id("b")); !errors.Is(err, ErrMiss) {
		t.Fatalf("absent: %v", err)
	}
}

// Every damage to a file is a miss, and Put repairs it.
func TestDamage(t *testing.T) {
	d := open(t)
	x := id("a")
	if err := d.Put(x, sample(2)); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(d.file(x))
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, i int, b []byte) {
		t.Helper()
		if err := os.WriteFile(d.file(x), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Get(x); !errors.Is(err, ErrMiss) {
			t.Fatalf("%s %d: %v", what, i, err)
		}
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x80
		check("byte", i, b)
	}
	for i := 0; i < len(good); i += 7 {
		check("cut to", i, good[:i])
	}
	check("longer", 0, append(bytes.Clone(good), 0))
	check("longer by a digest", 0, append(bytes.Clone(good), make([]byte, 32)...))
	// Another model's entry under this name.
	y := id("b")
	if err := d.Put(y, sample(2)); err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(d.file(y))
	if err != nil {
		t.Fatal(err)
	}
	check("other", 0, other)
	if err := d.Put(x, sample(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get(x); err != nil {
		t.Fatal(err)
	}
}

func TestPutRefusesWhatIsNoTree(t *testing.T) {
	d := open(t)
	e := sample(3)
	e.Layers = e.Layers[:3]
	if err := d.Put(id("a"), e); err == nil {
		t.Error("accepted layers without a root")
	}
	list, err := os.ReadDir(d.Path())
	if err != nil || len(list) != 0 {
		t.Errorf("left over: %v %v", list, err)
	}
}

func TestIDs(t *testing.T) {
	seen := map[ID]string{}
	for name, parts := range map[string][]string{
		"none": nil, "a": {"a"}, "b": {"b"}, "ab": {"a", "b"}, "ba": {"b", "a"}, "joined": {"ab"}, "empty": {""},
	} {
		x := id(parts...)
		if other, ok := seen[x]; ok {
			t.Errorf("%s and %s have one ID", name, other)
		}
		seen[x] = name
	}
}

func TestPrune(t *testing.T) {
	d := open(t)
	names := []string{"a", "b", "c"}
	var size int64
	for i, n := range names {
		if err := d.Put(id(n), sample(4)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(d.file(id(n)))
		if err != nil {
			t.Fatal(err)
		}
		size = info.Size()
		old := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(d.file(id(n)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	touch := func(name string, age time.Duration) string {
		t.Helper()
		path := filepath.Join(d.Path(), name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-age)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stale := touch(".x"+suffix+".1"+atomicfile.TempSuffix, 2*staleAfter)
	fresh := touch(".x"+suffix+".2"+atomicfile.TempSuffix, 0)
	foreign := touch("readme", 1000*time.Hour)
	// The oldest is used, so that the second goes first.
	if _, err := d.Get(id("a")); err != nil {
		t.Fatal(err)
	}
	removed, err := d.Prune(2 * size)
	if err != nil || removed != 2 {
		t.Fatalf("removed %d: %v", removed, err)
	}
	for path, want := range map[string]bool{
		d.file(id("a")): true, d.file(id("b")): false, d.file(id("c")): true,
		stale: false, fresh: true, foreign: true,
	} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: kept %t, want %t", filepath.Base(path), err == nil, want)
		}
	}
	if removed, err := d.Prune(0); err != nil || removed != 2 {
		t.Fatalf("removed %d: %v", removed, err)
	}
}

func TestOpenRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil {
		t.Error("opened a file as a folder")
	}
}

func BenchmarkGet(b *testing.B) {
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	if err := d.Put(id("a"), sample(16)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(2 * 32 << 16)
	for b.Loop() {
		if _, err := d.Get(id("a")); err != nil {
			b.Fatal(err)
		}
	}
}

// TestChecksum: every byte counts and so does the length, whatever is written at once.
func TestChecksum(t *testing.T) {
	of := func(b []byte, step int) [32]byte {
		c := newChecksum()
		for len(b) > 0 {
			n := min(step, len(b))
			c.Write(b[:n])
			b = b[n:]
		}
		return c.sum()
	}
	seen := map[[32]byte]int{}
	for _, n := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 3 * pieceSize} {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * i >> 3)
		}
		want := of(b, n)
		if m, ok := seen[want]; ok {
			t.Errorf("%d and %d bytes have one checksum", n, m)
		}
		seen[want] = n
		for _, step := range []int{1000, pieceSize - 1, pieceSize + 7} {
			if of(b, step) != want {
				t.Errorf("%d bytes, %d at once: another checksum", n, step)
			}
		}
		for _, i := range []int{0, n / 2, n - 1} {
			if n > 0 {
				b[i] ^= 1
				if of(b, n) == want {
					t.Errorf("byte %d of %d does not count", i, n)
				}
				b[i] ^= 1
			}
		}
	}
}
