package narrow

import (
	"encoding/binary"
	"math"
	"testing"
)

// All numbers of 16 bits, in lists that begin and end anywhere.
func TestLists(t *testing.T) {
	all := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(all[2*i:], uint16(i))
	}
	for name, c := range map[string]struct {
		list func([]float32, []byte)
		one  func(uint16) float32
	}{"f16": {Float16s, Float16}, "bf16": {BFloat16s, BFloat16}} {
		for _, n := range []int{0, 1, 3, 4, 5, 7, 1<<16 - 9} {
			for _, from := range []int{0, 1, 9} {
				got := make([]float32, n)
				c.list(got, all[2*from:])
				for i, x := range got {
					if want := c.one(uint16(from + i)); math.Float32bits(x) != math.Float32bits(want) && (x == x || want == want) {
						t.Fatalf("%s %#x in a list of %d from %d: %v, want %v", name, from+i, n, from, x, want)
					}
				}
			}
		}
	}
}

// A number that is not finite is found wherever it is, and no other is taken for one.
func TestFinite(t *testing.T) {
	for name, c := range map[string]struct {
		finite func([]byte) bool
		one    func(uint16) float32
	}{"f16": {FiniteFloat16s, Float16}, "bf16": {FiniteBFloat16s, BFloat16}} {
		for i := range 1 << 16 {
			at, n := i%7, 1+i%11
			if at >= n {
				at = n - 1
			}
			list := make([]byte, 2*n)
			binary.LittleEndian.PutUint16(list[2*at:], uint16(i))
			x := c.one(uint16(i))
			if want := x-x == 0; c.finite(list) != want {
				t.Fatalf("%s %#x at %d of %d: finite %v", name, i, at, n, !want)
			}
		}
	}
}
