package prf

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/blake3"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// TestElements compares with the definition, by the other implementation of BLAKE3.
func TestElements(t *testing.T) {
	k := Derive("test", []byte("secret"))
	for _, row := range []uint64{0, 1, 1 << 40} {
		message := binary.LittleEndian.AppendUint64([]byte{byte(Mask)}, row)
		stream := make([]byte, 4*5000)
		key := blake3.Key{}
		for i := range key {
			key[i] = binary.LittleEndian.Uint32(k[4*i:])
		}
		blake3.Sum(stream, &key, message)
		for _, from := range []int{0, 1, 15, 16, 1023, 2500} {
			got := make([]field.M31, 2500)
			k.Elements(Mask, row, uint64(from), got)
			ints := make([]int32, len(got))
			k.Ints(Mask, row, uint64(from), ints)
			for i, v := range got {
				if want := binary.LittleEndian.Uint32(stream[4*(from+i):]) & field.P; uint32(v) != want {
					t.Fatalf("row %d: element %d is %d, want %d", row, from+i, v, want)
				}
				if field.FromInt32(ints[i]) != v || ints[i] >= 1<<30 || ints[i] <= -1<<30 {
					t.Fatalf("row %d: element %d is %d and the integer %d", row, from+i, v, ints[i])
				}
			}
		}
	}
}

// TestInstead: what is in the place of a word that is no element is one, and another for each index.
func TestInstead(t *testing.T) {
	k := Derive("test", []byte("secret"))
	seen := map[uint32]bool{}
	for i := range uint64(100) {
		v := k.instead(Tail, 3, i)
		if v >= field.P || seen[v] {
			t.Fatalf("index %d: %d", i, v)
		}
		seen[v] = true
	}
}

// TestWordInstead: one word in 2^31 is no element; in this row of tails it is that of this index.
func TestWordInstead(t *testing.T) {
	const row, index = 89591, 1605
	k := Derive("test", []byte("secret"))
	if w := k.stream(Tail, row); binary.LittleEndian.Uint32(w.next())&field.P == field.P {
		t.Fatal("the first word is no element either")
	}
	var got [3]field.M31
	k.Elements(Tail, row, index-1, got[:])
	if want := k.instead(Tail, row, index); uint32(got[1]) != want || got[0] == got[1] || got[2] == got[1] {
		t.Errorf("elements %d, want %d in the middle", got, want)
	}
	words := k.stream(Tail, row)
	for range index / block {
		words.next()
	}
	if w := binary.LittleEndian.Uint32(words.next()[4*(index%block):]); w&field.P != field.P {
		t.Errorf("the word is %#x", w)
	}
}

// TestApart: elements of other uses, rows, keys and parts of what a key is derived from are others.
func TestApart(t *testing.T) {
	first := func(k Key, use Use, row uint64) [4]field.M31 {
		var e [4]field.M31
		k.Elements(use, row, 0, e[:])
		return e
	}
	k := Derive("test", []byte("secret"))
	seen := [][4]field.M31{}
	for _, e := range [][4]field.M31{
		first(k, Tail, 0), first(k, Salt, 0), first(k, Mask, 0), first(k, Auxiliary, 0), first(k, Pad, 0), first(k, Dummy, 0),
		first(k, Tail, 1), first(k, Tail, 1<<32),
		first(Derive("test", []byte("Secret")), Tail, 0),
		first(Derive("another test", []byte("secret")), Tail, 0),
		first(Derive("test", []byte("secret"), nil), Tail, 0),
		first(Derive("test", []byte("secret"), []byte("ab"), []byte("c")), Tail, 0),
		first(Derive("test", []byte("secret"), []byte("a"), []byte("bc")), Tail, 0),
	} {
		if slices.Contains(seen, e) {
			t.Fatal("two streams begin alike")
		}
		seen = append(seen, e)
	}
}

// TestSalts: salts of a range are those of its positions, and digests of every suite.
func TestSalts(t *testing.T) {
	k := Derive("test", []byte("secret"))
	all := make([]hash.Digest, 300)
	k.Salts(1000, all)
	for range 20 {
		i := rand.IntN(len(all))
		var one [1]hash.Digest
		k.Salts(uint64(1000+i), one[:])
		if one[0] != all[i] {
			t.Fatalf("the salt of position %d is another by itself", 1000+i)
		}
		for _, w := range one[0] {
			if w >= field.P {
				t.Fatalf("the salt of position %d is no digest of poseidon2", 1000+i)
			}
		}
	}
}
