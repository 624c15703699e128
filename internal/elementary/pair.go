package elementary

import "math"

// pair is the unevaluated sum hi + lo with |lo| at most half a unit in the last
// place of hi (Dekker 1971). Operations have relative errors of a few 2^−104.
type pair struct{ hi, lo float64 }

// Constants to 106 bits. ln2Low is the next 53 bits of ln2, for large multiples of it.
var (
	ln2    = pair{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}
	ln2Low = 0x1.7b57a079a1934p-111
	pi     = pair{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53}
	halfPi = pair{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}
)

// mul is a product that is rounded before anything else is done with it.
func mul(a, b float64) float64 { return float64(a * b) }

// fast is a + b for |a| ≥ |b|.
func fast(a, b float64) pair {
	s := a + b
	return pair{s, b - (s - a)}
}

// sum is a + b, exactly (Knuth).
func sum(a, b float64) pair {
	s := a + b
	t := s - a
	return pair{s, (a - (s - t)) + (b - t)}
}

// product is a·b, exactly if nothing underflows.
func product(a, b float64) pair {
	p := mul(a, b)
	return pair{p, math.FMA(a, b, -p)}
}

// add is x + y. As for all operations on pairs, the result is rounded to a pair.
func (x pair) add(y pair) pair {
	s, t := sum(x.hi, y.hi), sum(x.lo, y.lo)
	s = fast(s.hi, s.lo+t.hi)
	return fast(s.hi, s.lo+t.lo)
}

func (x pair) sub(y pair) pair { return x.add(y.neg()) }

func (x pair) neg() pair { return pair{-x.hi, -x.lo} }

// mul is x·y. The product of the low parts is beyond the precision of a pair.
func (x pair) mul(y pair) pair {
	p := product(x.hi, y.hi)
	return fast(p.hi, p.lo+(mul(x.hi, y.lo)+mul(x.lo, y.hi)))
}

// times is x·y.
func (x pair) times(y float64) pair {
	p := product(x.hi, y)
	return fast(p.hi, p.lo+mul(x.lo, y))
}

// scaled is x·2^e, exactly if nothing overflows or underflows.
func (x pair) scaled(e int) pair { return pair{math.Ldexp(x.hi, e), math.Ldexp(x.lo, e)} }

// div is x/y, by long division: each of three doubles is the quotient of the remainder before.
func (x pair) div(y pair) pair {
	q := x.hi / y.hi
	r := x.sub(y.times(q))
	p := r.hi / y.hi
	r = r.sub(y.times(p))
	return fast(q, p).add(pair{r.hi / y.hi, 0})
}

// sqrt is √x, 0 for 0.
func (x pair) sqrt() pair {
	if x.hi == 0 {
		return pair{}
	}
	s := math.Sqrt(x.hi)
	return fast(s, x.sub(product(s, s)).hi/mul(2, s))
}

// polynomial is Σ c[i]·x^i.
func polynomial(x float64, c ...float64) float64 {
	y := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		y = mul(y, x) + c[i]
	}
	return y
}
