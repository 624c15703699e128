package elementary

import (
	"math"
	"math/bits"
)

// twoOverPi are the bits of 2/π, after 64 zeros.
var twoOverPi = [...]uint64{
	0,
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
	0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
	0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
	0xa9e391615ee61b08,
}

// reduce returns q, modulo 4, and r in [−π/4, π/4] with x = q·π/2 + r, for a
// finite x ≥ 0 (Payne and Hanek 1983): x·2/π modulo 4 with 254 bits after the
// point, of which cancellation takes at most about 120.
func reduce(x float64) (q uint, r pair) {
	if x <= halfPi.hi/2 {
		return 0, pair{x, 0}
	}
	b := math.Float64bits(x)
	mantissa := b&(1<<52-1) | 1<<52
	// x = mantissa·2^e. The window is the 256 bits of 2/π from the one that counts 2 when it is multiplied by
	// 2^e: the bits before it make multiples of 4. p is window·mantissa modulo 2^256, that is x·2/π modulo 4.
	e := int(b>>52) - 1075
	word, shift := (e+62)/64, uint(e+62)%64
	var window, p [4]uint64
	for i := range window {
		window[i] = twoOverPi[word+i]<<shift | twoOverPi[word+i+1]>>(64-shift)
	}
	carry := uint64(0)
	for i := 3; i >= 0; i-- {
		hi, lo := bits.Mul64(window[i], mantissa)
		var c uint64
		p[i], c = bits.Add64(lo, carry, 0)
		carry = hi + c
	}
	q = uint(p[0] >> 62)
	for i := range p {
		p[i] <<= 2
		if i < 3 {
			p[i] |= p[i+1] >> 62
		}
	}
	negative := p[0]>>63 == 1
	if negative { // the next multiple is nearer
		q = (q + 1) & 3
		carry = 1
		for i := 3; i >= 0; i-- {
			p[i], carry = bits.Add64(^p[i], 0, carry)
		}
	}
	// The first 106 bits that are not zero.
	word = 0
	for p[word] == 0 {
		word++
	}
	zeros := bits.LeadingZeros64(p[word])
	at := func(i int) uint64 {
		if i < len(p) {
			return p[i]
		}
		return 0
	}
	hi := p[word]<<zeros | at(word+1)>>(64-zeros)
	lo := at(word+1)<<zeros | at(word+2)>>(64-zeros)
	e = -64*word - zeros
	f := fast(math.Ldexp(float64(hi>>11), e-53), math.Ldexp(float64((hi&(1<<11-1))<<42|lo>>22), e-106))
	r = f.mul(halfPi)
	if negative {
		r = r.neg()
	}
	return q, r
}

// trigSteps is how many points of the table of sines there are to 1.
const trigSteps = 32

// sines are the sine and the cosine of i/32.
var sines = func() (t [27]struct{ sin, cos pair }) {
	for i := range t {
		x := float64(i) / trigSteps
		square := product(x, x)
		// Both series end below 2^−110.
		sin, cos := pair{1, 0}, pair{1, 0}
		for n := 26.0; n > 0; n -= 2 {
			cos = pair{1, 0}.sub(cos.mul(square).div(pair{mul(n, n-1), 0}))
			sin = pair{1, 0}.sub(sin.mul(square).div(pair{mul(n, n+1), 0}))
		}
		t[i].sin, t[i].cos = sin.times(x), cos
	}
	return t
}()

// sincos is the sine and the cosine of r, for |r| ≤ π/4.
func sincos(r pair) (sin, cos pair) {
	if r.hi < 0 {
		sin, cos = sincos(r.neg())
		return sin.neg(), cos
	}
	i := math.RoundToEven(mul(r.hi, trigSteps))
	// r = i/32 + t with |t| ≤ 1/64.
	t := sum(r.hi, -i/trigSteps).add(pair{r.lo, 0})
	square := t.mul(t)
	x := square.hi
	st := t.mul(square).mul(sixth).neg().add(pair{mul(mul(t.hi, mul(x, x)), polynomial(x, 1.0/120, -1.0/5040, 1.0/362880)), 0}).add(t)
	ct := square.scaled(-1).neg().add(pair{mul(mul(x, x), polynomial(x, 1.0/24, -1.0/720, 1.0/40320)), 0}) // cos(t) − 1
	if i == 0 {
		return st, ct.add(pair{1, 0})
	}
	at := &sines[int(i)]
	return at.sin.add(at.sin.mul(ct).add(at.cos.mul(st))), at.cos.add(at.cos.mul(ct).sub(at.sin.mul(st)))
}

// Sin is the sine of x.
func Sin(x float64) float64 {
	if math.IsNaN(x) || math.Abs(x) < 0x1p-30 {
		return nearZero(x, -1.0/6)
	}
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	q, r := reduce(math.Abs(x))
	s, c := sincos(r)
	if q&1 != 0 {
		s = c
	}
	y := s.hi
	if (q&2 != 0) != (x < 0) {
		y = -y
	}
	return y
}

// Cos is the cosine of x.
func Cos(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.NaN()
	}
	q, r := reduce(math.Abs(x))
	s, c := sincos(r)
	if q&1 != 0 {
		c = s.neg()
	}
	if q&2 != 0 {
		c = c.neg()
	}
	return c.hi
}

// Tan is the tangent of x.
func Tan(x float64) float64 {
	if math.IsNaN(x) || math.Abs(x) < 0x1p-30 {
		return nearZero(x, 1.0/3)
	}
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	q, r := reduce(math.Abs(x))
	s, c := sincos(r)
	if q&1 != 0 {
		s, c = c.neg(), s
	}
	y := s.div(c).hi
	if x < 0 {
		y = -y
	}
	return y
}
