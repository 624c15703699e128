package graph

// exponential is x to the power of a computed e: exp(e·log |x|), with the sign of odd powers
// where x is negative. x⁰ is 1. The result is a partial value: it is +∞ where x is 0 and e is
// negative, and NaN where x is negative and e is not whole.
func (b *Builder) exponential(x, e Value) Value {
	if !b.DType(x).IsFloat() {
		return b.Failf("its exponent must be constant, since its base is integers, but %s", b.Depends(e))
	}
	whole, signed := !b.DType(e).IsFloat(), !b.notNegative(e)
	e = b.Cast(e, Float)
	if t := b.Tensor(x); t != nil && t.positive() {
		return b.Apply(Exp, b.Mul(e, b.Apply(Log, x)))
	}
	one := b.number("one", 1)
	atZero := b.Test(IsZero, x)
	zero := b.Cast(atZero, Float)
	size := b.Apply(Exp, b.Mul(e, b.Apply(Log, b.Add(b.Apply(Abs, x), zero)))) // 1 where x is 0
	var nan, pos func() Value
	if !b.notNegative(x) {
		isNegative := b.Test(IsPositive, b.Negative(x))
		negative := b.Cast(isNegative, Float)
		half := b.Mul(e, b.number("half", 0.5))
		odd := b.Sub(e, b.Mul(b.Apply(Floor, half), b.number("two", 2))) // e mod 2, which is 0 or 1 if e is whole
		isWhole := b.Test(IsZero, b.Sub(e, b.Apply(Floor, e)))           // where it is 0, a negative x has no power e
		sign := b.Mul(b.Cast(isWhole, Float), b.Sub(one, b.Mul(odd, b.number("two", 2))))
		size = b.Mul(size, b.Add(one, b.Mul(negative, b.Sub(sign, one))))
		if !whole && b.sometimes(isNegative) {
			nan = func() Value { return b.butNot(isNegative, isWhole) }
		}
	}
	if signed && !b.aboveZero(x) && b.sometimes(atZero) {
		pos = func() Value { return b.both(atZero, b.Test(IsPositive, b.Negative(e))) }
	}
	none := b.Cast(b.Test(IsZero, e), Float) // the result where x is 0: 0⁰ = 1, else 0
	return b.undefined(b.Add(b.Mul(size, b.Sub(one, zero)), b.Mul(zero, none)), nan, pos)
}

// notNegative reports whether the type of x, or the operator that computes it, shows that x
// is not negative.
func (b *Builder) notNegative(x Value) bool {
	if lo, _ := b.DType(x).Bounds(); !b.DType(x).IsFloat() && lo == 0 {
		return true
	}
	switch s, _ := operator(x.v).(Scalar); s.Func {
	case Relu, Abs, Exp, Sqrt, Sigmoid, Softplus:
		return true
	case Clip:
		return s.Params[0] >= 0
	}
	return false
}

// aboveZero reports whether the operator that computes x shows that it is positive.
func (b *Builder) aboveZero(x Value) bool {
	s, _ := operator(x.v).(Scalar)
	return s.Func == Exp || s.Func == Sigmoid || s.Func == Softplus || s.Func == Clip && s.Params[0] > 0
}

// positive says whether all entries are above 0.
func (t *Tensor) positive() bool { return t.all(func(x float64) bool { return x > 0 }) }
