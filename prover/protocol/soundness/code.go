package soundness

import (
	"math/big"
	"sync"
)

// Mode selects the proximity parameter of the trees of an opening's tail. The
// first trees are always taken within the unique decoding radius.
type Mode int

const (
	// Unique takes every tree within half its minimum distance: δ = (1−ρ)/2, a
	// list of one codeword.
	Unique Mode = iota
	// Johnson takes the trees of the tail up to near the Johnson bound,
	// δ = 1 − √ρ·(1+1/m), with out-of-domain samples that single out one
	// codeword of the list.
	Johnson
)

// String returns the name the command line uses.
func (m Mode) String() string {
	if m == Johnson {
		return "johnson"
	}
	return "unique"
}

// codeBound is an interleaved Reed–Solomon code with a decoding radius.
type codeBound struct {
	logLength    int // log2 of the number of positions n
	logBlowup    int // rate ρ = 2^(−logBlowup)
	multiplicity int // 0: unique decoding; m ≥ 3: δ = 1 − √ρ·(1+1/m)
	// tailLog is 0, or j ≥ 1 for rows with tails (Params.TailLog). A tail makes the code's dimension
	// larger by the fraction φ = 2^(−j) of a row: ρ = (1+φ)·ρ₀ for ρ₀ = 2^(−logBlowup). Then
	// δ = (1+ρ₀)/2 − ρ, which is (1−ρ)/2 less φ·ρ₀/2.
	tailLog int
}

// codeBits are the bits that depend on a code alone.
type codeBits struct {
	perQuery Bits // of one query
	fold     Bits // of binding one row variable, without grinding
	pairs    Bits // log2 of ℓ²/2, rounded up, for lists of at most ℓ codewords
}

// knownCodes remembers codeBits by codeBound: the choice of parameters asks for the
// same few of them many times.
var knownCodes sync.Map

// bits returns the codeBits of a code.
func (c codeBound) bits() codeBits {
	if b, ok := knownCodes.Load(c); ok {
		return b.(codeBits)
	}
	l := c.listSize()
	b := codeBits{c.perQuery(), c.foldBits(), log2Ceil(new(big.Int).Mul(l, l)) - WholeBits(1)}
	knownCodes.Store(c, b)
	return b
}

// perQuery returns the bits of one query, −log2(1−δ).
func (c codeBound) perQuery() Bits {
	if j := c.tailLog; j > 0 {
		// 1−δ = (1−ρ₀)/2 + ρ = (2^(b+j) + 2^j + 2)/2^(b+j+1).
		return WholeBits(c.logBlowup+j+1) - log2CeilInt(1<<(c.logBlowup+j)+1<<j+2)
	}
	if c.multiplicity == 0 {
		// 1−δ = (1+ρ)/2 = (2^b+1)/2^(b+1).
		return WholeBits(c.logBlowup+1) - log2CeilInt(1<<c.logBlowup+1)
	}
	// 1−δ = 2^(−b/2)·(m+1)/m.
	m := int64(c.multiplicity)
	return WholeBits(c.logBlowup)/2 - log2CeilInt(m+1) + log2FloorInt(m)
}

// listSize returns an upper bound ℓ of the number of codewords within δ. Near
// the Johnson bound it is 1/(2η√ρ) = m/(2ρ) with η = √ρ/m, from the distance of
// the code alone, so it holds for the interleaved code as well.
func (c codeBound) listSize() *big.Int {
	if c.multiplicity == 0 {
		return big.NewInt(1)
	}
	n := big.NewInt(int64(c.multiplicity))
	n.Lsh(n, uint(c.logBlowup))
	n.Add(n, big.NewInt(1)) // round m·2^b/2 up
	return n.Rsh(n, 1)
}

// badChallenges returns an upper bound a of the number of r ∈ K for which
// (1−r)·u0 + r·u1 agrees with a codeword on 1−δ of the positions although u0
// and u1 do not both agree with codewords there (mutual correlated agreement).
//
//   - unique decoding: a = n (2024/1586, Cor. 4.11).
//   - Johnson: a = (2M⁵ + 3Mδρ)/(3ρ^(3/2))·n + M/√ρ with M = m + 1/2
//     (2025/2055, Thm 4.2).
//
// Both carry over to the interleaved code (docs/security.md).
func (c codeBound) badChallenges() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(1), uint(c.logLength))
	if c.multiplicity == 0 {
		return n
	}
	// With s = 2m+1 = 2M, and δρ < 1:
	//   2M⁵ + 3Mδρ < (s⁵ + 24s)/16,   M = s/2,   ρ^(−1/2) = 2^(b/2).
	s := big.NewInt(int64(2*c.multiplicity + 1))
	s5 := new(big.Int).Exp(s, big.NewInt(5), nil)
	s5.Add(s5, new(big.Int).Mul(s, big.NewInt(24)))
	first := mulSqrtPow2(s5.Mul(s5, n), 3*c.logBlowup)
	first = ceilDiv(first, 48)
	second := ceilDiv(mulSqrtPow2(s, c.logBlowup), 2)
	return first.Add(first, second)
}

// mulSqrtPow2 returns ⌈x·2^(e/2)⌉ for x ≥ 0.
func mulSqrtPow2(x *big.Int, e int) *big.Int {
	if e%2 == 0 {
		return new(big.Int).Lsh(x, uint(e/2))
	}
	sq := new(big.Int).Mul(x, x)
	sq.Lsh(sq, uint(e))
	r := new(big.Int).Sqrt(sq)
	if new(big.Int).Mul(r, r).Cmp(sq) < 0 {
		r.Add(r, big.NewInt(1))
	}
	return r
}

// ceilDiv returns ⌈x/d⌉ for x ≥ 0.
func ceilDiv(x *big.Int, d int64) *big.Int {
	x = new(big.Int).Add(x, big.NewInt(d-1))
	return x.Div(x, big.NewInt(d))
}

// foldBits returns the bits of binding one row variable, whose error is (3ℓ+a)/|K|: a for a
// challenge that is bad in the sense of badChallenges, and 3ℓ for one at which the round
// polynomial that was sent meets the true one of some codeword of the list. (Their difference has
// degree 2; 3 is the constant of 2024/1586, Thm 5.2.)
func (c codeBound) foldBits() Bits {
	n := new(big.Int).Mul(c.listSize(), big.NewInt(3))
	return overField(n.Add(n, c.badChallenges()))
}

// outOfDomainBits returns the bits of w samples, which are to single out one codeword of the
// list. Two tables of 2^vars values agree at a random point of K with probability at most
// 2^vars/|K|, and there are fewer than ℓ²/2 pairs of codewords.
func (c codeBound) outOfDomainBits(vars, w int) Bits {
	return Bits(w)*(fieldBits-WholeBits(vars)) - c.bits().pairs
}

// joinBits returns the bits of joining n constraints to a claim with powers of
// one challenge. The error is n/|K| for each of the ℓ codewords of the list.
func (c codeBound) joinBits(n int) Bits {
	return overField(new(big.Int).Mul(c.listSize(), big.NewInt(int64(n))))
}
