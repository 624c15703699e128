package soundness

import (
	"fmt"
	"math/big"
	"math/bits"
)

// Bits is an amount of security, −log2 of an error probability, in fixed point
// with fracBits fractional bits. Every computation rounds it down.
type Bits int64

// fracBits is the number of fractional bits of Bits.
const fracBits = 24

// WholeBits returns n bits.
func WholeBits(n int) Bits { return Bits(n) << fracBits }

// Whole returns the number of whole bits in b, rounded down.
func (b Bits) Whole() int { return int(b >> fracBits) }

// Float returns b as a floating-point number, for printing only.
func (b Bits) Float() float64 { return float64(b) / (1 << fracBits) }

// String returns b with one decimal, rounded down.
func (b Bits) String() string {
	tenths := b.tenths()
	sign := ""
	if tenths < 0 {
		sign, tenths = "-", -tenths
	}
	return fmt.Sprintf("%s%d.%d", sign, tenths/10, tenths%10)
}

// tenths returns b in tenths of a bit, rounded down.
func (b Bits) tenths() int64 { return int64(b) * 10 >> fracBits }

// log2Floor returns a lower bound of log2(x) for x ≥ 1, less than 2^(1−fracBits)
// away from it and exact for powers of two.
func log2Floor(x *big.Int) Bits {
	if x.Sign() <= 0 {
		panic("soundness: logarithm of a number below 1")
	}
	whole := x.BitLen() - 1
	// The mantissa of x in [1, 2) as m/2^63; digits are lost downwards only.
	var top big.Int
	if whole > 63 {
		top.Rsh(x, uint(whole-63))
	} else {
		top.Lsh(x, uint(63-whole))
	}
	m := top.Uint64()
	r := Bits(whole)
	// Squaring the mantissa doubles its logarithm: the next binary digit of the logarithm is 1 if
	// the square is at least 2. Then the square is halved, so that it is in [1, 2) again.
	for range fracBits {
		hi, lo := bits.Mul64(m, m) // m² / 2^126 in [1, 4)
		r <<= 1
		if hi>>63 == 1 { // at least 2
			r |= 1
			m = hi
		} else {
			m = hi<<1 | lo>>63
		}
	}
	return r
}

// log2Ceil returns an upper bound of log2(x) for x ≥ 1, less than
// 2^(2−fracBits) away from it and exact for powers of two.
func log2Ceil(x *big.Int) Bits {
	r := log2Floor(x)
	if x.TrailingZeroBits() == uint(x.BitLen()-1) {
		return r
	}
	return r + 2 // log2Floor is less than two units of the last bit too small
}

func log2FloorInt(x int64) Bits { return log2Floor(big.NewInt(x)) }
func log2CeilInt(x int64) Bits  { return log2Ceil(big.NewInt(x)) }

// fieldSize is |K| = (2^31 − 1)^4.
var fieldSize = func() *big.Int {
	p := big.NewInt(1<<31 - 1)
	return p.Exp(p, big.NewInt(4), nil)
}()

// fieldBits is log2 |K|, rounded down.
var fieldBits = log2Floor(fieldSize)

// overField returns the bits of an error probability of at most n/|K|. For n = 0 there is no
// error, and it returns fieldBits, as for n = 1.
func overField(n *big.Int) Bits {
	if n.Sign() == 0 {
		return fieldBits
	}
	return fieldBits - log2Ceil(n)
}
