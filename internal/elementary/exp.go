package elementary

import "math"

// expBits is the logarithm of the number of roots of two in the table of exp.
const expBits = 6

// roots are 2^(i/64), as products of √2, √√2 and so on: one factor for each bit of i that is 1.
var roots = func() (t [1 << expBits]pair) {
	t[0] = pair{1, 0}
	root := pair{2, 0}
	for bit := 1 << (expBits - 1); bit > 0; bit >>= 1 {
		root = root.sqrt()
		for i := range t {
			if i&(2*bit-1) == bit {
				t[i] = t[i-bit].mul(root)
			}
		}
	}
	return t
}()

// exp returns m and e with e^x = m·2^e and m in [1, 2]. If e^x is so close to 1 that
// e^x − 1 would lose digits when it is computed from these, close is true, and less is
// e^x − 1 to full precision. It is for |x| < 800.
func exp(x pair) (m pair, e int, less pair, close bool) {
	k := math.RoundToEven(mul(x.hi, (1<<expBits)/ln2.hi))
	// x = k·ln2/64 + r with |r| < 0.0055; r has an error below 2^−105.
	const unit = 1.0 / (1 << expBits)
	r := pair{x.hi, 0}.sub(product(k, mul(ln2.hi, unit)))
	r = r.add(pair{x.lo, 0}).sub(product(k, mul(ln2.lo, unit))).sub(pair{mul(k, mul(ln2Low, unit)), 0})
	less = expm1Small(r)
	i := int(k)
	root := roots[i&(1<<expBits-1)]
	return root.add(root.mul(less)), i >> expBits, less, i == 0
}

// expm1Small is e^r − 1 for |r| < 0.0055, by Taylor's series: its first three
// terms as pairs, and the sum of the others as a double.
func expm1Small(r pair) pair {
	square := r.mul(r)
	s := r.add(square.scaled(-1)).add(square.mul(r).mul(sixth))
	rest := polynomial(r.hi, 1.0/24, 1.0/120, 1.0/720, 1.0/5040, 1.0/40320, 1.0/362880)
	return s.add(pair{mul(mul(square.hi, square.hi), rest), 0})
}

var sixth = pair{1, 0}.div(pair{6, 0})

// expm1 is e^x − 1 for |x| < 700.
func expm1(x pair) pair {
	m, e, less, close := exp(x)
	if close {
		return less
	}
	return m.scaled(e).sub(pair{1, 0})
}

// Above mostExp the exponential is infinite, and below leastExp it is 0.
const (
	mostExp  = 709.79
	leastExp = -745.2
)

// Exp is e^x.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > mostExp:
		return math.Inf(1)
	case x < leastExp:
		return 0
	}
	if y, e, ok := quickExp(x); ok {
		return scale(y, e)
	}
	m, e, _, _ := exp(pair{x, 0})
	return scale(m.hi, e)
}

// quickExp computes e^x = y·2^e with little more precision than a double has. ok is false
// if the error bound leaves open to which double the exact value is rounded, about
// once in fifty times; then exp has to do it (Ziv 1991).
func quickExp(x float64) (y float64, e int, ok bool) {
	const unit = 1.0 / (1 << expBits)
	k := math.RoundToEven(mul(x, (1<<expBits)/ln2.hi))
	r := fast(math.FMA(-k, mul(ln2.hi, unit), x), -mul(k, mul(ln2.lo, unit)))
	// e^r − 1 − r.hi, which is below 2^−15.
	s := r.lo + mul(mul(r.hi, r.hi), polynomial(r.hi, 1.0/2, 1.0/6, 1.0/24, 1.0/120, 1.0/720))
	i := int(k)
	root := &roots[i&(1<<expBits-1)]
	p := product(root.hi, r.hi)
	m := fast(root.hi, p.hi)
	low := m.lo + (p.lo + (mul(root.hi, s) + (root.lo + mul(root.lo, r.hi))))
	// A bound of the error; most of that is the error of r, 2^−61.
	const most = 0x1p-58
	y = m.hi + (low - most)
	return y, i >> expBits, y == m.hi+(low+most)
}

// scale is x·2^e.
func scale(x float64, e int) float64 {
	if e < -1000 || e > 1000 {
		return math.Ldexp(x, e)
	}
	return mul(x, math.Float64frombits(uint64(e+1023)<<52))
}

// Expm1 is e^x − 1.
func Expm1(x float64) float64 {
	switch {
	case math.IsNaN(x) || x == 0:
		return x
	case x > mostExp:
		return math.Inf(1)
	case x < -50:
		return -1
	case x > 100:
		return Exp(x)
	}
	return expm1(pair{x, 0}).hi
}

// Sinh is (e^x − e^−x)/2.
func Sinh(x float64) float64 {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || x == 0 || math.IsInf(x, 0):
		return x
	case a >= 40:
		return math.Copysign(halfExp(a), x)
	default:
		t := expm1(pair{a, 0})
		return math.Copysign(t.add(t.div(t.add(pair{1, 0}))).hi/2, x)
	}
}

// Cosh is (e^x + e^−x)/2.
func Cosh(x float64) float64 {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return a
	case a >= 40:
		return halfExp(a)
	default:
		m, e, _, _ := exp(pair{a, 0})
		t := m.scaled(e)
		return t.add(pair{1, 0}.div(t)).hi / 2
	}
}

// halfExp is e^x/2 for x ≥ 0.
func halfExp(x float64) float64 {
	if x > mostExp+1 {
		return math.Inf(1)
	}
	m, e, _, _ := exp(pair{x, 0})
	return math.Ldexp(m.hi, e-1)
}

// Tanh is (e^x − e^−x)/(e^x + e^−x).
func Tanh(x float64) float64 {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || x == 0:
		return x
	case a > 22:
		return math.Copysign(1, x)
	default:
		t := expm1(pair{mul(2, a), 0})
		return math.Copysign(t.div(t.add(pair{2, 0})).hi, x)
	}
}
