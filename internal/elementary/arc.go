package elementary

// The inverse trigonometric functions are angles of vectors.

import "math"

// angle is the angle of the vector (c, s), in [0, π/2], for s, c ≥ 0, not both 0.
func angle(s, c pair) pair {
	if s.hi > c.hi {
		return halfPi.sub(angle(c, s))
	}
	// An approximation to 1e−5 (Hastings 1955), which is then subtracted as a
	// rotation; what is left is small enough for three terms of a series.
	a := s.hi / c.hi
	y := mul(a, polynomial(mul(a, a), 0.9998660, -0.3302995, 0.1801410, -0.0851330, 0.0208351))
	sy, cy := sincos(pair{y, 0})
	d := s.mul(cy).sub(c.mul(sy)).div(c.mul(cy).add(s.mul(sy)))
	square := mul(d.hi, d.hi)
	d = d.add(pair{mul(mul(d.hi, square), polynomial(square, -1.0/3, 1.0/5)), 0})
	return pair{y, 0}.add(d)
}

// Atan is the angle whose tangent is x.
func Atan(x float64) float64 {
	a := math.Abs(x)
	switch {
	case math.IsNaN(x):
		return x
	case a < 0x1p-30:
		return nearZero(x, -1.0/3)
	case a > 0x1p60:
		return math.Copysign(halfPi.hi, x)
	}
	return math.Copysign(angle(pair{a, 0}, pair{1, 0}).hi, x)
}

// Asin is the angle whose sine is x.
func Asin(x float64) float64 {
	a := math.Abs(x)
	switch {
	case math.IsNaN(x) || a > 1:
		return math.NaN()
	case a < 0x1p-30:
		return nearZero(x, 1.0/6)
	}
	return math.Copysign(angle(pair{a, 0}, leg(a)).hi, x)
}

// Acos is the angle whose cosine is x.
func Acos(x float64) float64 {
	a := math.Abs(x)
	if math.IsNaN(x) || a > 1 {
		return math.NaN()
	}
	y := angle(leg(a), pair{a, 0})
	if x < 0 {
		y = pi.sub(y)
	}
	return y.hi
}

// leg is √(1 − a²).
func leg(a float64) pair { return sum(1, -a).mul(sum(1, a)).sqrt() }
