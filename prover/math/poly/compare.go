package poly

import (
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/field"
)

// AtMostEval returns Σ eq(r, i)·eq(s, j) over i < n and j < m with i ≤ j + d: the
// evaluation at (r, s) of the MLE of the n×m matrix that is 1 for these i and j and 0 elsewhere. It takes
// n ≤ 2^len(r), m ≤ 2^len(s) and any d, and O(len(r) + len(s) + log |d|) operations.
func AtMostEval(r, s []field.QM31, n, m uint64, d int64) field.QM31 {
	return compareEval(r, s, n, m, d, false)
}

// EqualEval is AtMostEval for i = j + d.
func EqualEval(r, s []field.QM31, n, m uint64, d int64) field.QM31 {
	return compareEval(r, s, n, m, d, true)
}

// compared is the state after the lowest bits of i and j, each 0 or 1: holds, whether the comparison holds for
// these bits; inN and inM, whether they are below those of n and of m; and carry, the carry of the sum with |d|.
type compared struct{ holds, inN, inM, carry uint64 }

// index returns the number of a state, 0 to 15.
func (c compared) index() uint64 { return c.holds | c.inN<<1 | c.inM<<2 | c.carry<<3 }

// below returns 1 if a number is below another one, judged by its bit, the other's bit, and last, which says whether it is
// below by the lower bits of both.
func below(bit, other, last uint64) uint64 {
	if bit == other {
		return last
	}
	return other
}

// compareEval goes through the bits of i and j, from the lowest on. For each state it keeps the sum of the weights of
// all pairs of low bits that lead to the state.
func compareEval(r, s []field.QM31, n, m uint64, d int64, equal bool) field.QM31 {
	// |d| is added to the smaller side: i + |d| ≤ j, or i ≤ j + d.
	abs := uint64(d)
	if d < 0 {
		abs = -abs
	}
	var sums [16]field.QM31
	sums[compared{holds: 1}.index()] = field.One
	for k := range max(len(r), len(s), bits.Len64(abs)) + 1 {
		ri, sj := bitWeights(r, k), bitWeights(s, k)
		var next [16]field.QM31
		for at, sum := range sums {
			if sum.IsZero() {
				continue
			}
			state := uint64(at)
			for i := range uint64(2) {
				for j := range uint64(2) {
					if ri[i].IsZero() || sj[j].IsZero() {
						continue
					}
					left, right := i, j
					t := &right
					if d < 0 {
						t = &left
					}
					*t += abs>>k&1 + state>>3&1
					c := compared{inN: below(i, n>>k&1, state>>1&1), inM: below(j, m>>k&1, state>>2&1), carry: *t >> 1}
					*t &= 1
					switch {
					case left == right:
						c.holds = state & 1
					case !equal:
						c.holds = right
					}
					next[c.index()] = next[c.index()].Add(sum.Mul(ri[i]).Mul(sj[j]))
				}
			}
		}
		sums = next
	}
	return sums[compared{holds: 1, inN: 1, inM: 1}.index()]
}

// bitWeights returns the eq factors of bit k of an index, 0 and 1: beyond the
// variables the bit is 0.
func bitWeights(r []field.QM31, k int) [2]field.QM31 {
	if k >= len(r) {
		return [2]field.QM31{field.One, field.Zero}
	}
	x := r[len(r)-1-k]
	return [2]field.QM31{field.One.Sub(x), x}
}
