package poseidon2

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// grain is the self-shrinking generator of the Poseidon paper (2019/458,
// appendix F): an 80-bit LFSR seeded with the parameters.
type grain struct{ bits []byte }

func newGrain(fieldBits, width, full, partial int) *grain {
	var g grain
	push := func(v, n int) {
		for i := n - 1; i >= 0; i-- {
			g.bits = append(g.bits, byte(v>>i&1))
		}
	}
	push(1, 2) // prime field
	push(0, 4) // S-box x^α
	push(fieldBits, 12)
	push(width, 12)
	push(full, 10)
	push(partial, 10)
	push(1<<30-1, 30)
	for range 160 {
		g.step()
	}
	return &g
}

func (g *grain) step() byte {
	b := g.bits
	n := b[62] ^ b[51] ^ b[38] ^ b[23] ^ b[13] ^ b[0]
	g.bits = append(b[1:], n)
	return n
}

// bit reads pairs until one starts with 1, and returns its second bit.
func (g *grain) bit() byte {
	for g.step() == 0 {
		g.step()
	}
	return g.step()
}

func (g *grain) element() field.M31 {
	for {
		var v uint32
		for range 31 {
			v = v<<1 | uint32(g.bit())
		}
		if v < field.P {
			return field.M31(v)
		}
	}
}

func TestConstantsFromGrain(t *testing.T) {
	g := newGrain(31, Width, externalRounds, internalRounds)
	external := func(name string, got *[externalRounds / 2][Width]field.M31) {
		for r := range got {
			for i := range got[r] {
				if want := g.element(); got[r][i] != want {
					t.Fatalf("%s[%d][%d] = %d, want %d", name, r, i, got[r][i], want)
				}
			}
		}
	}
	external("externalInitial", &externalInitial)
	for r := range internalConstants {
		if want := g.element(); internalConstants[r] != want {
			t.Fatalf("internalConstants[%d] = %d, want %d", r, internalConstants[r], want)
		}
	}
	external("externalFinal", &externalFinal)
}

func TestConstantsMatchVectors(t *testing.T) {
	v := readVectors(t)
	if !slices.Equal(v.ExternalInitial, externalInitial[:]) ||
		!slices.Equal(v.Internal, internalConstants[:]) ||
		!slices.Equal(v.ExternalFinal, externalFinal[:]) {
		t.Fatal("constants differ from testdata")
	}
}
