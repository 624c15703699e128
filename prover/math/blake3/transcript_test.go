package blake3

import (
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"lukechampine.com/blake3"
)

// byDefinition is a transcript as docs/proof-format.md has it, with another implementation of BLAKE3.
type byDefinition struct{ state, items []byte }

func derived(context string) []byte {
	key := make([]byte, 32)
	blake3.DeriveKey(key, "prove-model blake3 v1: transcript, "+context, nil)
	return key
}

func hashed(context string, message ...[]byte) io.Reader {
	h := blake3.New(32, derived(context))
	h.Write(slices.Concat(message...))
	return h.XOF()
}

func read(r io.Reader, n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		panic(err)
	}
	return b
}

func (d *byDefinition) item(kind byte, count int, content []byte) {
	d.items = append(binary.LittleEndian.AppendUint64(append(d.items, kind), uint64(count)), content...)
}

func (d *byDefinition) move() {
	if len(d.items) > 0 {
		d.state, d.items = read(hashed("move", d.state, d.items), 32), nil
	}
}

func (d *byDefinition) draw() io.Reader {
	out := hashed("draw", d.state, d.items)
	d.state, d.items = read(out, 32), nil
	return out
}

func (d *byDefinition) elements(n int) []field.M31 {
	out := d.draw()
	var v []field.M31
	for len(v) < n {
		if x := binary.LittleEndian.Uint32(read(out, 4)) & field.P; x < field.P {
			v = append(v, field.M31(x))
		}
	}
	return v
}

// TestByDefinition: every operation does what its definition says.
func TestByDefinition(t *testing.T) {
	tr, d := NewTranscript("label"), &byDefinition{state: make([]byte, 32)}
	d.item(4, 5, []byte("label"))
	same := func(what string) {
		t.Helper()
		got := make([]field.M31, 5)
		tr.Draw(got)
		if want := d.elements(5); !slices.Equal(got, want) {
			t.Fatalf("after %s: %v, want %v", what, got, want)
		}
	}
	same("the label")

	tr.AbsorbElements([]field.M31{1, 2})
	tr.AbsorbElements(nil)
	tr.AbsorbElements([]field.M31{3})
	d.item(1, 3, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}) // one after the other are one item
	tr.AbsorbDigests([]Digest{{4}})
	tr.AbsorbDigests([]Digest{{0, 0, 0, 0, 0, 0, 0, 5 << 24}})
	d.item(2, 2, append([]byte{4, 62: 0}, 5))
	tr.AbsorbUint64(1 << 40)
	tr.AbsorbUint64(6)
	d.item(3, 2, []byte{0, 0, 0, 0, 0, 1, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0})
	tr.AbsorbBytes([]byte("a"))
	tr.AbsorbBytes(nil)
	tr.AbsorbBytes([]byte("bc"))
	d.item(4, 1, []byte("a"))
	d.item(4, 0, nil)
	d.item(4, 2, []byte("bc"))
	same("messages")
	same("a draw")

	got := make([]uint64, 9)
	tr.DrawIndices(got, 37)
	out := d.draw()
	for i, v := range got {
		if want := binary.LittleEndian.Uint64(read(out, 8)) & (1<<37 - 1); v != want {
			t.Fatalf("index %d: %d, want %d", i, v, want)
		}
	}

	// Many elements: the output goes on.
	long := make([]field.M31, 1000)
	tr.Draw(long)
	if want := d.elements(1000); !slices.Equal(long, want) {
		t.Fatal("other elements in a long draw")
	}

	// Work.
	tr.AbsorbElements([]field.M31{7})
	d.item(1, 1, []byte{7, 0, 0, 0})
	const zeros = 9
	state := tr.Work()
	d.move()
	nonce, ok := SearchNonce(&state, 0, 1<<16, zeros)
	for n := uint64(0); n <= nonce && ok; n++ {
		hash := read(hashed("work", d.state, binary.LittleEndian.AppendUint64(nil, n)), 8)
		if does := bits.LeadingZeros64(binary.BigEndian.Uint64(hash)) >= zeros; does != (n == nonce) {
			t.Fatalf("nonce %d does the work: %t; %d was found", n, does, nonce)
		}
	}
	if !ok || !tr.EndWork(nonce, zeros) {
		t.Fatal("no nonce found")
	}
	d.item(5, 1, binary.LittleEndian.AppendUint64(nil, nonce))
	same("work")

	// Forks and their join, the parent and one child with something pending.
	tr.AbsorbElements([]field.M31{8})
	d.item(1, 1, []byte{8, 0, 0, 0})
	var children []*Transcript
	var ends []byte
	for i := range uint64(2) {
		child := tr.Fork(i)
		moved := &byDefinition{d.state, d.items}
		moved.move()
		own := &byDefinition{state: read(hashed("fork", moved.state, binary.LittleEndian.AppendUint64(nil, i)), 32)}
		if i == 1 {
			child.AbsorbElements([]field.M31{9})
			own.item(1, 1, []byte{9, 0, 0, 0})
		}
		own.move()
		children, ends = append(children, child), append(ends, read(hashed("join", own.state), 32)...)
	}
	tr.Join(children)
	d.move()
	d.item(6, 2, ends)
	same("a join")
}

// TestKeys: no two uses have one key.
func TestKeys(t *testing.T) {
	seen := map[Key]bool{}
	keys := []Key{keyDraw, keyMove, keyFork, keyJoin, KeyWork, KeyColumn, KeyGroups, KeyNode, KeyPublicColumn, KeySaltedLeaf}
	for _, k := range keys {
		seen[k] = true
	}
	if len(seen) != len(keys) {
		t.Errorf("%d keys for %d uses", len(seen), len(keys))
	}
}
