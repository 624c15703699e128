package field

import "github.com/prove-model/prove-model/internal/parallel"

// eqGrain is the least number of entries of a step of an eq table that one
// goroutine computes.
const eqGrain = 1 << 13

// EqTableInto sets dst[i] = scale·eq(r, i) = scale·Π_j (r_j if bit j of i is
// set, else 1 − r_j), where r_0 goes with the most significant of the len(r)
// bits of i. len(dst) = 2^len(r).
func EqTableInto(dst []QM31, r []QM31, scale QM31) {
	mustMatch(len(dst), 1<<len(r))
	dst[0] = scale
	// From the last variable to the first. Each step doubles the table: entries
	// with the new bit set go to the half above the table so far.
	size := 1
	for j := len(r) - 1; j >= 0; j-- {
		lo, hi := dst[:size], dst[size:2*size]
		parallel.For(size, eqGrain, func(from, to int) {
			eqStep(lo[from:to], hi[from:to], r[j])
		})
		size *= 2
	}
}

// eqStep sets hi[i] = lo[i]·r, then lo[i] −= hi[i].
func eqStep(lo, hi []QM31, r QM31) {
	m := newMultiplier(r)
	n := blocks(len(lo), blockQM31)
	if n > 0 {
		eqVec(limbs(lo), limbs(hi), m.table(), uint64(n))
	}
	for i := n; i < len(lo); i++ {
		hi[i] = m.mul(lo[i])
		lo[i] = lo[i].Sub(hi[i])
	}
}
