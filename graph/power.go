package graph

// exponential is x to the power of a computed e: exp(e·log |x|) with the sign of odd powers
// where x is negative. It is 0 where a power is not defined, or infinite.
func (b *Builder) exponential(x, e Value) Value {
	if !b.DType(x).IsFloat() {
		return b.Failf("its exponent must be constant, since its base is integers, but %s", b.Depends(e))
	}
	e = b.Cast(e, Float)
	if t := b.Tensor(x); t != nil && t.positive() {
		return b.Apply(Exp, b.Mul(e, b.Apply(Log, x)))
	}
	one := b.number("one", 1)
	zero := b.Cast(b.Test(IsZero, x), Float)
	size := b.Apply(Exp, b.Mul(e, b.Apply(Log, b.Add(b.Apply(Abs, x), zero)))) // 1 where x is 0
	if !b.notNegative(x) {
		negative := b.Cast(b.Test(IsPositive, b.Negative(x)), Float)
		half := b.Mul(e, b.number("half", 0.5))
		odd := b.Sub(e, b.Mul(b.Apply(Floor, half), b.number("two", 2)))    // of a whole number, 0 or 1
		whole := b.Cast(b.Test(IsZero, b.Sub(e, b.Apply(Floor, e))), Float) // 0: no such power
		sign := b.Mul(whole, b.Sub(one, b.Mul(odd, b.number("two", 2))))
		size = b.Mul(size, b.Add(one, b.Mul(negative, b.Sub(sign, one))))
	}
	none := b.Cast(b.Test(IsZero, e), Float) // 0⁰ = 1
	return b.Add(b.Mul(size, b.Sub(one, zero)), b.Mul(zero, none))
}

// notNegative says whether it is plain from what computes x that it is not negative.
func (b *Builder) notNegative(x Value) bool {
	if x.v.node == nil {
		return false
	}
	s, ok := x.v.node.op.(Scalar)
	if !ok {
		return false
	}
	switch s.Func {
	case Relu, Abs, Exp, Sqrt, Sigmoid, Softplus:
		return true
	case Clip:
		return s.Params[0] >= 0
	}
	return false
}

// positive says whether all entries are above 0.
func (t *Tensor) positive() bool {
	for i := range t.Len() {
		if !(t.At(i) > 0) {
			return false
		}
	}
	return true
}
