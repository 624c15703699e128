package elementary

import "math"

// Pow is x^y.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case math.IsNaN(x) || math.IsNaN(y):
		return math.NaN()
	case y == 1:
		return x
	case y == 2:
		return mul(x, x)
	}
	sign, a := 1.0, math.Abs(x)
	if math.Signbit(x) && math.Abs(math.Mod(y, 2)) == 1 { // an odd whole number, as none from 2^53 on is
		sign = -1
	}
	switch {
	case a == 1 && math.IsInf(y, 0):
		return 1
	case a == 0 || math.IsInf(a, 0) || math.IsInf(y, 0):
		if (a > 1) == (y > 0) {
			return math.Copysign(math.Inf(1), sign)
		}
		return math.Copysign(0, sign)
	case x < 0 && y != math.Trunc(y):
		return math.NaN()
	}
	l := log(pair{a, 0})
	switch p := mul(l.hi, y); {
	case p > mostExp+1:
		return math.Copysign(math.Inf(1), sign)
	case p < leastExp-1:
		return math.Copysign(0, sign)
	}
	m, e, _, _ := exp(l.times(y))
	return math.Copysign(math.Ldexp(m.hi, e), sign)
}
