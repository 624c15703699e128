package poly

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/field"
)

// EqTable returns the 2^len(r) values eq(r, 0), eq(r, 1), …
func EqTable(r []field.QM31) []field.QM31 {
	t := make([]field.QM31, 1<<len(r))
	field.EqTableInto(t, r, field.One)
	return t
}

// Eq returns eq(a, b) = Π_j (a_j·b_j + (1−a_j)(1−b_j)) for two points of the
// same length. On Boolean points it is 1 if they are equal and 0 otherwise.
func Eq(a, b []field.QM31) field.QM31 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("poly: eq of points of %d and %d coordinates", len(a), len(b)))
	}
	e := field.One
	for j := range a {
		// ab + (1−a)(1−b) = 1 − a − b + 2ab: one product.
		ab := a[j].Mul(b[j])
		e = e.Mul(ab.Double().Sub(a[j]).Sub(b[j]).AddM31(1))
	}
	return e
}

// EqIndex returns eq(r, i) for i in [0, 2^len(r)), without a table.
func EqIndex(r []field.QM31, i uint64) field.QM31 {
	e := field.One
	for j := range r {
		if i>>(len(r)-1-j)&1 == 1 {
			e = e.Mul(r[j])
		} else {
			e = e.Mul(field.One.Sub(r[j]))
		}
	}
	return e
}

// Prefixes gives the values of eq(r[:n], ·) at a point r for all n, from tables for a few
// coordinates each. It is for evaluating many blocks of different sizes.
type Prefixes struct {
	r []field.QM31
	// tables[l][n] is the eq table of n coordinates, from coordinate l·prefixVars on.
	tables [][prefixVars + 1][]field.QM31
}

// prefixVars is the most coordinates that a table is for.
const prefixVars = 7

// NewPrefixes makes the tables, which have fewer than 2^8 entries together for every seven coordinates.
func NewPrefixes(r []field.QM31) *Prefixes {
	p := &Prefixes{r: r, tables: make([][prefixVars + 1][]field.QM31, 0, len(r)/prefixVars+1)}
	for rest := r; ; rest = rest[prefixVars:] {
		vars := min(len(rest), prefixVars)
		var t [prefixVars + 1][]field.QM31
		room := make([]field.QM31, 2<<vars)
		t[0], room = room[:1], room[1:]
		t[0][0] = field.One
		for n, x := range rest[:vars] {
			t[n+1], room = room[:2<<n], room[2<<n:]
			for i, e := range t[n] {
				high := e.Mul(x)
				t[n+1][2*i], t[n+1][2*i+1] = e.Sub(high), high
			}
		}
		p.tables = append(p.tables, t)
		if len(rest) <= prefixVars {
			return p
		}
	}
}

// Point returns r.
func (p *Prefixes) Point() []field.QM31 { return p.r }

// At returns EqIndex(r[:n], i).
func (p *Prefixes) At(n int, i uint64) field.QM31 {
	first, rest := p.Split(n, i)
	if n <= prefixVars {
		return first
	}
	return first.Mul(rest)
}

// Split returns two factors of At(n, i), for callers that multiply many such factors at a time.
func (p *Prefixes) Split(n int, i uint64) (first, rest field.QM31) {
	if n <= prefixVars {
		return p.tables[0][n][i], field.One
	}
	first = p.tables[0][prefixVars][i>>(n-prefixVars)]
	for l := 1; ; l++ {
		n -= prefixVars
		here := min(n, prefixVars)
		next := p.tables[l][here][i>>(n-here)&(1<<here-1)]
		if l == 1 {
			rest = next
		} else {
			rest = rest.Mul(next)
		}
		if n == here {
			return first, rest
		}
	}
}

// Run sets dst to At(n, i), At(n, i + 1), …
func (p *Prefixes) Run(dst []field.QM31, n int, i uint64) {
	low := min(n, prefixVars, bits.Len(uint(len(dst))))
	table := EqTable(p.r[n-low : n])
	for len(dst) > 0 {
		from := i & (1<<low - 1)
		part := dst[:min(len(dst), len(table)-int(from))]
		clear(part)
		field.MulAccQM31Vec(part, table[from:][:len(part)], p.At(n-low, i>>low))
		dst, i = dst[len(part):], i+uint64(len(part))
	}
}

// EqShift returns Σ_y eq(h, y)·eq(r, offset + y) over y in [0, 2^len(h)), the MLE at
// r of the table that is eq(h, ·) from index offset on and zero elsewhere. It panics
// if that goes beyond 2^len(r) entries.
func EqShift(h, r []field.QM31, offset uint64) field.QM31 {
	if len(h) > len(r) || offset > 1<<len(r)-1<<len(h) {
		panic(fmt.Sprintf("poly: 2^%d entries from %d on of 2^%d", len(h), offset, len(r)))
	}
	// Go through the bits of offset + y, the lowest first. none and carry are the sums of the weights eq(h, y)·eq(r, offset + y) over the
	// low bits of y so far: of those whose sum with offset has no carry, and of those whose sum has one.
	none, carry := field.One, field.Zero
	for i := range r {
		p := r[len(r)-1-i]
		var y field.QM31 // the weight of this bit of y being 1
		if i < len(h) {
			y = h[len(h)-1-i]
		}
		// wab is the weight of bit a in y and bit b in the sum.
		w11 := y.Mul(p)
		w10, w01 := y.Sub(w11), p.Sub(w11)
		w00 := field.One.Sub(y).Sub(w01)
		if offset>>i&1 == 0 {
			none, carry = none.Mul(w00.Add(w11)).Add(carry.Mul(w01)), carry.Mul(w10)
		} else {
			none, carry = none.Mul(w01), none.Mul(w10).Add(carry.Mul(w00.Add(w11)))
		}
	}
	return none
}
