package code

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// withTail returns a random row with a tail, and the table of one variable more that it stands for.
func withTail(rng *rand.Rand, n, tail int) (row, rho, table []field.M31) {
	table = make([]field.M31, 2<<n)
	for i := range 1<<n + tail {
		table[i] = field.M31(rng.Uint32N(field.P))
	}
	return table[: 1<<n : 1<<n], table[1<<n : 1<<n+tail], table
}

// TestEncodeTail: the codeword of a row with a tail is that of the table of one variable more.
func TestEncodeTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 4, 6, 10, 13, 16} {
		for _, tail := range []int{0, 1, 3, 1 << n / 4, 1 << n} {
			for blowup := 1; blowup <= 3; blowup++ {
				if tail > 1<<n {
					continue
				}
				row, rho, table := withTail(rng, n, tail)
				want, got := make([]field.M31, 1<<(n+blowup)), make([]field.M31, 1<<(n+blowup))
				Encode(want, table)
				EncodeTail(got, row, rho)
				if !slices.Equal(got, want) {
					t.Fatalf("2^%d values, tail of %d, rate 2^-%d: another codeword", n, tail, blowup)
				}
				b := NewBlocks(n, n+blowup)
				upper, block := make([]field.M31, 1<<n), make([]field.M31, b.Len())
				for at := 0; at < len(want); at += b.Len() {
					part, k := at>>n, at&(1<<n-1)/b.Len()
					if k == 0 {
						b.Upper(upper, row, rho, part)
					}
					b.Lower(block, upper[k*b.Len():(k+1)*b.Len()], part, k)
					if !slices.Equal(block, want[at:at+b.Len()]) {
						t.Fatalf("2^%d values, tail of %d, rate 2^-%d: another block at %d", n, tail, blowup, at)
					}
				}
				var positions []uint64
				var some []field.M31
				for i, v := range want {
					if rng.IntN(1+len(want)/20) == 0 {
						positions, some = append(positions, uint64(i)), append(some, v)
					}
				}
				at := make([]field.M31, len(positions))
				EncodeAt(at, row, rho, n+blowup, positions, make([]field.M31, 1<<n))
				if !slices.Equal(at, some) {
					t.Fatalf("2^%d values, tail of %d, rate 2^-%d: other values at %d", n, tail, blowup, positions)
				}
			}
		}
	}
	for name, f := range map[string]func(){
		"a longer tail":    func() { EncodeTail(make([]field.M31, 8), make([]field.M31, 2), make([]field.M31, 3)) },
		"a short codeword": func() { EncodeTail(make([]field.M31, 2), make([]field.M31, 2), make([]field.M31, 1)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestTailsHide: what a tail of t elements adds at t positions is as random as t elements, and at
// one more it is not. It is the rank of the map from tails to codewords there.
func TestTailsHide(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{4, 6, 8} {
		for _, tail := range []int{1, 3, 1 << n / 4} {
			for _, extra := range []int{0, 1} {
				var positions []uint64
				for len(positions) < tail+extra {
					p := rng.Uint64N(4 << n)
					if !slices.Contains(positions, p) {
						positions = append(positions, p)
					}
				}
				slices.Sort(positions)
				var rows [][]field.M31
				for i := range tail {
					rho := make([]field.M31, tail)
					rho[i] = 1
					at := make([]field.M31, len(positions))
					EncodeAt(at, make([]field.M31, 1<<n), rho, n+2, positions, make([]field.M31, 1<<n))
					rows = append(rows, at)
				}
				if r := rank(rows); r != tail {
					t.Errorf("2^%d values, %d positions: tails of %d elements make %d of them random", n, len(positions), tail, r)
				}
			}
		}
	}
}

// rank is that of a matrix, which it overwrites.
func rank(m [][]field.M31) int {
	r := 0
	for c := 0; r < len(m) && c < len(m[0]); c++ {
		p := r
		for p < len(m) && m[p][c] == 0 {
			p++
		}
		if p == len(m) {
			continue
		}
		m[r], m[p] = m[p], m[r]
		inv := m[r][c].Inv()
		for i := r + 1; i < len(m); i++ {
			f := m[i][c].Mul(inv)
			for k := c; k < len(m[i]); k++ {
				m[i][k] = m[i][k].Sub(f.Mul(m[r][k]))
			}
		}
		r++
	}
	return r
}
