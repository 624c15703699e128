package soundness

import (
	"cmp"
	"math/big"
	"math/bits"
	"slices"
)

// Round is a verifier challenge of the protocol, or several of one kind, with its security.
type Round struct {
	Name  string
	Times int  // number of challenges of this kind, each with this error
	Grind int  // grinding bits before the challenge, included in Bits
	Bits  Bits // −log2 of the error of one challenge
}

// MinBits returns the security of the weakest round: the bits of the proof in
// the round-by-round sense. It returns 0 for no rounds.
func MinBits(rounds []Round) Bits {
	if len(rounds) == 0 {
		return 0
	}
	return least(rounds, func(r Round) Bits { return r.Bits })
}

// least returns the least value of a function on the rounds, of which there is at least one.
func least(rounds []Round, of func(Round) Bits) Bits {
	return of(slices.MinFunc(rounds, func(a, b Round) int { return cmp.Compare(of(a), of(b)) }))
}

// Join is the round that joins n claims with the powers 1, ζ, …, ζ^(n−1) of a
// challenge: if one of them is false, the joined claim is true at the zeros of a
// polynomial of degree n − 1 at most, (n−1)/|K|.
func Join(name string, n uint64) Round { return Point(name, max(n, 1)-1) }

// Point is the round that tests a polynomial of the given total degree, which
// should be zero, at a random point: degree/|K|.
func Point(name string, degree uint64) Round {
	return Round{name, 1, 0, overField(new(big.Int).SetUint64(degree))}
}

// Sumcheck is the rounds of a sumcheck with polynomials of the given degree: each has the
// error degree/|K|.
func Sumcheck(name string, rounds, degree int) Round {
	return Round{name, rounds, 0, overField(big.NewInt(int64(degree)))}
}

// LookUps is the challenge pair of a LogUp argument (2023/1284) over the given
// number of fractions, look-ups and table entries together. A row's columns are
// compressed by a random combination of degree at most max(⌈log2 columns⌉, 1): a multilinear
// one, or powers of a challenge for up to three columns. The error is
// entries·max(⌈log2 columns⌉, 1)/|K|, before grind bits of grinding are added.
func LookUps(name string, entries uint64, columns, grind int) Round {
	logColumns := max(1, ceilLog2(uint64(max(1, columns))))
	n := new(big.Int).SetUint64(entries)
	n.Mul(n, big.NewInt(int64(logColumns)))
	return Round{name, 1, grind, overField(n) + WholeBits(grind)}
}

// FractionalSum is the GKR proof of a fractional sum over 2^layers leaves,
// taken as a whole: layers·(3·layers+1)/(2|K|) (2023/1284, §3).
func FractionalSum(name string, layers int) Round {
	l := int64(layers)
	return Round{name, 1, 0, overField(big.NewInt((l*(3*l+1) + 1) / 2))}
}

// ceilLog2 returns ⌈log2 x⌉, 0 for 0.
func ceilLog2(x uint64) int {
	return bits.Len64(max(x, 1) - 1)
}
