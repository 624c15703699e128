package elementary

import (
	"math"
	"sync"
)

// erf is computed from the nearest of the points i/8, with Taylor's series there.
const (
	erfSteps  = 8
	erfLast   = 6  // from here on erf is 1, to the last bit
	erfDegree = 15 // terms of Σ rest, for |h| ≤ 1/16: the others are below 2^−70 in all
)

// expansion is erf(i/8 + h) = value + h·(slope + h·Σ rest[n]·h^n).
type expansion struct {
	value, slope pair
	rest         [erfDegree]float64
}

var expansions = sync.OnceValue(func() *[erfLast*erfSteps + 1]expansion {
	var t [erfLast*erfSteps + 1]expansion
	factor := pair{2, 0}.div(pi.sqrt())
	for i := range t {
		x := float64(i) / erfSteps
		m, e, _, _ := exp(product(x, x).neg())
		slope := factor.mul(m.scaled(e)) // the derivative, 2/√π·e^(−x²)
		t[i].slope = slope
		// erf(x) = slope·Σ 2^n·x^(2n+1)/(2n+1)!!, which has no cancellation.
		term := pair{x, 0}
		value := term
		for n := 1.0; term.hi > mul(0x1p-110, value.hi); n++ {
			term = term.mul(product(mul(2, x), x)).div(pair{mul(2, n) + 1, 0})
			value = value.add(term)
		}
		t[i].value = value.mul(slope)
		// The derivative f has f' = −2x·f, so its coefficients a are linked by
		// (n+1)·a[n+1] = −2x·a[n] − 2·a[n−1].
		before, a := pair{}, slope
		for n := range t[i].rest {
			before, a = a, a.times(mul(-2, x)).sub(before.scaled(1)).div(pair{float64(n + 1), 0})
			t[i].rest[n] = a.div(pair{float64(n + 2), 0}).hi
		}
	}
	return &t
})

// Erf is 2/√π·∫ e^(−t²) dt from 0 to x.
func Erf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case math.IsNaN(x):
		return x
	case a >= erfLast:
		return math.Copysign(1, x)
	}
	i := math.RoundToEven(mul(a, erfSteps))
	t := &expansions()[int(i)]
	h := a - i/erfSteps // exact
	s := t.slope.add(pair{mul(h, polynomial(h, t.rest[:]...)), 0})
	return math.Copysign(t.value.add(s.times(h)).hi, x)
}
