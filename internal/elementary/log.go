package elementary

import "math"

// The table of log has numbers c, about 64/i for i from 45 to 91. A mantissa from
// √½ to √2 times one of these is close to 1, and so is its logarithm plus log(1/c).
// For mantissas around 1, c is 1.
const (
	leastMantissa = 0x1.6a09e6p-1
	logSteps      = 64
	firstLog      = 45 // leastMantissa·logSteps, rounded
	lastLog       = 91
)

// inverse is a number c of the table, and the logarithm of 1/c.
type inverse struct {
	c   float64
	log pair
}

var inverses = func() (t [lastLog - firstLog + 1]inverse) {
	for i := range t {
		// Few bits, so that products with them are exact in little more than a double.
		c := math.RoundToEven(1<<9*logSteps/float64(i+firstLog)) / (1 << 9)
		t[i] = inverse{c, atanhSmall(pair{1 - c, 0}.div(pair{1 + c, 0})).scaled(1)}
	}
	return t
}()

// atanhSmall is the series Σ z^(2n+1)/(2n+1), for |z| < 0.2.
func atanhSmall(z pair) pair {
	square, power, s := z.mul(z), z, z
	for n := 3.0; math.Abs(power.hi) > 0x1p-120; n += 2 {
		power = power.mul(square)
		s = s.add(power.div(pair{n, 0}))
	}
	return s
}

// log is the logarithm of a finite x > 0. Where x is 1 + y for a small y, it has
// the precision that y has.
func log(x pair) pair {
	m, e := math.Frexp(x.hi)
	if m < leastMantissa {
		m, e = mul(2, m), e-1
	}
	t := &inverses[int(math.RoundToEven(mul(m, logSteps)))-firstLog]
	p := product(m, t.c)
	r := sum(p.hi-1, p.lo).add(pair{mul(math.Ldexp(x.lo, -e), t.c), 0})
	l := log1pSmall(r)
	if t.c != 1 {
		l = t.log.add(l)
	}
	if e != 0 {
		l = ln2.times(float64(e)).add(l)
	}
	return l
}

var third = pair{1, 0}.div(pair{3, 0})

// log1pSmall is log(1 + r) for |r| < 0.013, by Taylor's series: the first three
// terms as pairs, and the sum of the others as a double.
func log1pSmall(r pair) pair {
	square := r.mul(r)
	s := r.sub(square.scaled(-1)).add(square.mul(r).mul(third))
	rest := polynomial(r.hi, -1.0/4, 1.0/5, -1.0/6, 1.0/7, -1.0/8, 1.0/9, -1.0/10, 1.0/11, -1.0/12)
	return s.add(pair{mul(mul(square.hi, square.hi), rest), 0})
}

// Log is the natural logarithm.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	return log(pair{x, 0}).hi
}

// tiny is the magnitude below which a function that is 0 at 0, with the slope 1, is
// taken to be its argument: the next term of its series is beyond a double.
const tiny = 0x1p-60

// Log1p is log(1 + x).
func Log1p(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1) || math.Abs(x) < tiny:
		return x
	case x < -1:
		return math.NaN()
	case x == -1:
		return math.Inf(-1)
	}
	return log(sum(1, x)).hi
}

// small is the magnitude below which Asinh and Atanh are the first two terms of their
// series, x + c·x³ (nearZero): by a logarithm of 1 + x they would lose digits.
const small = 0x1p-25

// nearZero is x + c·x³.
func nearZero(x, c float64) float64 {
	if x == 0 {
		return x // with its sign
	}
	return x + mul(mul(mul(x, x), x), c)
}

// Asinh is log(x + √(x² + 1)).
func Asinh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return x
	case a < small:
		return nearZero(x, -1.0/6)
	case a > 0x1p40:
		return math.Copysign(log(pair{a, 0}).add(ln2).hi, x)
	}
	// x + √(x² + 1) is 1 + above, with above = x + x²/(1 + √(1 + x²)): no digits of a small x are lost.
	square := product(a, a)
	above := pair{a, 0}.add(square.div(square.add(pair{1, 0}).sqrt().add(pair{1, 0})))
	return math.Copysign(log(above.add(pair{1, 0})).hi, x)
}

// Acosh is log(x + √(x² − 1)).
func Acosh(x float64) float64 {
	switch {
	case math.IsNaN(x) || x < 1:
		return math.NaN()
	case math.IsInf(x, 1):
		return x
	case x > 0x1p40:
		return log(pair{x, 0}).add(ln2).hi
	}
	t := sum(x, -1)
	above := t.add(t.mul(t.add(pair{2, 0})).sqrt())
	return log(above.add(pair{1, 0})).hi
}

// Atanh is log((1 + x)/(1 − x))/2.
func Atanh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case math.IsNaN(x) || a > 1:
		return math.NaN()
	case a == 1:
		return math.Copysign(math.Inf(1), x)
	case a < small:
		return nearZero(x, 1.0/3)
	}
	return math.Copysign(log(sum(1, a).div(sum(1, -a))).hi/2, x)
}
