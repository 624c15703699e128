package field

// BatchInvert replaces every a[i] by its inverse, and leaves zeros as they
// are: one inversion and three products an element (Montgomery's trick).
func BatchInvert(a []QM31) {
	// before[i] is the product of the non-zero elements below i.
	before := make([]QM31, len(a))
	product := One
	for i, v := range a {
		before[i] = product
		if !v.IsZero() {
			product = product.Mul(v)
		}
	}
	inv := product.Inv()
	for i := len(a) - 1; i >= 0; i-- {
		if v := a[i]; !v.IsZero() {
			a[i] = inv.Mul(before[i])
			inv = inv.Mul(v)
		}
	}
}
