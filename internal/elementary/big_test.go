package elementary

import "math/big"

// What the functions are held against: the same in arithmetic of bigBits bits, by
// the plainest series there are.
const bigBits = 1400

func num(x float64) *big.Float { return real().SetFloat64(x) }

func real() *big.Float { return new(big.Float).SetPrec(bigBits) }

func plus(a, b *big.Float) *big.Float { return real().Add(a, b) }

func minus(a, b *big.Float) *big.Float { return real().Sub(a, b) }

func times(a, b *big.Float) *big.Float { return real().Mul(a, b) }

func over(a, b *big.Float) *big.Float { return real().Quo(a, b) }

func root(a *big.Float) *big.Float { return real().Sqrt(a) }

func half(a *big.Float) *big.Float { return real().SetMantExp(a, -1) }

// series sums terms, each the last times next(n), until they no longer matter.
func series(first *big.Float, next func(n int, term *big.Float) *big.Float) *big.Float {
	s, term := real().Set(first), first
	for n := 1; ; n++ {
		term = next(n, term)
		if term.Sign() == 0 || s.Sign() != 0 && term.MantExp(nil) < s.MantExp(nil)-bigBits {
			return s
		}
		s = plus(s, term)
	}
}

// bigExp is Taylor's series of x/2^40, squared 40 times.
func bigExp(x *big.Float) *big.Float {
	const halvings = 40
	y := real().SetMantExp(x, -halvings)
	s := series(num(1), func(n int, t *big.Float) *big.Float { return over(times(t, y), num(float64(n))) })
	for range halvings {
		s = times(s, s)
	}
	return s
}

var bigLn2 = real().SetMantExp(bigAtanh(over(num(1), num(3))), 1)

// bigAtanh is Σ z^(2n+1)/(2n+1), for |z| < 1/2.
func bigAtanh(z *big.Float) *big.Float {
	square, power := times(z, z), z
	return series(z, func(n int, _ *big.Float) *big.Float {
		power = times(power, square)
		return over(power, num(float64(2*n+1)))
	})
}

func bigLog(x *big.Float) *big.Float {
	m := real()
	e := x.MantExp(m)
	if m.Cmp(num(0.7)) < 0 {
		m, e = m.SetMantExp(m, 1), e-1
	}
	l := bigAtanh(over(minus(m, num(1)), plus(m, num(1))))
	return plus(real().SetMantExp(l, 1), times(bigLn2, num(float64(e))))
}

// bigPi is Machin's.
var bigPi = func() *big.Float {
	arc := func(n float64) *big.Float { return bigAtanSmall(over(num(1), num(n))) }
	return times(num(4), minus(times(num(4), arc(5)), arc(239)))
}()

// bigAtanSmall is Σ (−1)^n·z^(2n+1)/(2n+1).
func bigAtanSmall(z *big.Float) *big.Float {
	square, power := real().Neg(times(z, z)), z
	return series(z, func(n int, _ *big.Float) *big.Float {
		power = times(power, square)
		return over(power, num(float64(2*n+1)))
	})
}

// bigAtan halves the angle until the series is quick.
func bigAtan(x *big.Float) *big.Float {
	const halvings = 12
	for range halvings {
		x = over(x, plus(num(1), root(plus(num(1), times(x, x)))))
	}
	return real().SetMantExp(bigAtanSmall(x), halvings)
}

func bigAsin(x *big.Float) *big.Float {
	leg := root(minus(num(1), times(x, x)))
	if leg.Sign() == 0 {
		return times(half(bigPi), x)
	}
	return bigAtan(over(x, leg))
}

func bigAcos(x *big.Float) *big.Float { return minus(half(bigPi), bigAsin(x)) }

// bigTurns returns q modulo 4 and r in [−π/4, π/4] with x = q·π/2 + r.
func bigTurns(x *big.Float) (q int, r *big.Float) {
	turns, _ := plus(over(x, half(bigPi)), num(0.5)).Int(nil)
	if x.Sign() < 0 {
		turns.Sub(turns, big.NewInt(1)) // Int rounds towards zero; either neighbour will do
	}
	r = minus(x, times(half(bigPi), real().SetInt(turns)))
	return int(new(big.Int).And(turns, big.NewInt(3)).Int64()), r
}

func bigSinCos(x *big.Float) (sin, cos *big.Float) {
	q, r := bigTurns(x)
	square := real().Neg(times(r, r))
	sin, cos = r, num(1)
	if r.Sign() != 0 {
		sin = series(r, func(n int, t *big.Float) *big.Float { return over(times(t, square), num(float64(2*n*(2*n+1)))) })
		cos = series(num(1), func(n int, t *big.Float) *big.Float { return over(times(t, square), num(float64(2*n*(2*n-1)))) })
	}
	for range q {
		sin, cos = cos, real().Neg(sin)
	}
	return sin, cos
}

func bigSin(x *big.Float) *big.Float {
	s, _ := bigSinCos(x)
	return s
}

func bigCos(x *big.Float) *big.Float {
	_, c := bigSinCos(x)
	return c
}

func bigTan(x *big.Float) *big.Float { return over(bigSinCos(x)) }

func bigExpm1(x *big.Float) *big.Float { return minus(bigExp(x), num(1)) }

func bigSinh(x *big.Float) *big.Float {
	e := bigExp(x)
	return half(minus(e, over(num(1), e)))
}

func bigCosh(x *big.Float) *big.Float {
	e := bigExp(x)
	return half(plus(e, over(num(1), e)))
}

func bigTanh(x *big.Float) *big.Float { return over(bigSinh(x), bigCosh(x)) }

func bigLog1p(x *big.Float) *big.Float { return bigLog(plus(num(1), x)) }

func bigAsinh(x *big.Float) *big.Float {
	if x.Sign() < 0 { // no cancellation
		return real().Neg(bigAsinh(real().Neg(x)))
	}
	return bigLog(plus(x, root(plus(times(x, x), num(1)))))
}

func bigAcosh(x *big.Float) *big.Float { return bigLog(plus(x, root(minus(times(x, x), num(1))))) }

func bigArtanh(x *big.Float) *big.Float {
	return half(bigLog(over(plus(num(1), x), minus(num(1), x))))
}

// bigErf is Taylor's series, whose terms grow to e^(x²) before they vanish.
func bigErf(x *big.Float) *big.Float {
	square, power := real().Neg(times(x, x)), x
	s := series(x, func(n int, _ *big.Float) *big.Float {
		power = over(times(power, square), num(float64(n)))
		return over(power, num(float64(2*n+1)))
	})
	return over(times(num(2), s), root(bigPi))
}
