package ints

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// Lists come back from their bytes, wherever these lie.
func TestBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 7, 100} {
		for _, bits := range []int{8, 16, 31} {
			v := Of(random(rng, n, bits))
			b := Bytes(v)
			for _, same := range []Ints{v, Int32s(All(v)), Of(All(v))} {
				if !bytes.Equal(Shortest(same), Bytes(Of(All(v)))) {
					t.Errorf("%d entries of %d bytes: not the shortest", n, same.Width())
				}
			}
			if len(b) != n*v.Width() {
				t.Fatalf("%d entries of %d bytes: %d bytes", n, v.Width(), len(b))
			}
			for shift := range 4 {
				moved := append(make([]byte, shift, shift+len(b)), b...)[shift:]
				got := FromBytes(moved, v.Width())
				if got == nil || got.Width() != v.Width() || !slices.Equal(All(got), All(v)) {
					t.Errorf("%d entries of %d bytes, moved by %d: they differ", n, v.Width(), shift)
				}
				if !bytes.Equal(Bytes(got), b) {
					t.Errorf("%d entries of %d bytes, moved by %d: bytes differ", n, v.Width(), shift)
				}
			}
		}
	}
	if b := Bytes(Int16s{-2, 258}); !bytes.Equal(b, []byte{0xfe, 0xff, 2, 1}) {
		t.Errorf("%v", b)
	}
	if b := Bytes(Int32s{-2}); !bytes.Equal(b, []byte{0xfe, 0xff, 0xff, 0xff}) {
		t.Errorf("%v", b)
	}
	if b := Shortest(Int16s{-128, 127}); !bytes.Equal(b, []byte{0x80, 0x7f}) {
		t.Errorf("%v", b)
	}
	if b := Shortest(Int32s{-2, 258}); !bytes.Equal(b, []byte{0xfe, 0xff, 2, 1}) {
		t.Errorf("%v", b)
	}
	for width, size := range map[int]int{0: 0, 2: 3, 3: 3, 4: 6, 8: 8} {
		if v := FromBytes(make([]byte, size), width); v != nil {
			t.Errorf("%d bytes in entries of %d: accepted", size, width)
		}
	}
}
