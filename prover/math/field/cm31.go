package field

// CM31 is an element a0 + a1·i of F_p(i), i² = −1.
type CM31 struct{ A0, A1 M31 }

// Add returns a + b.
func (a CM31) Add(b CM31) CM31 { return CM31{a.A0.Add(b.A0), a.A1.Add(b.A1)} }

// Sub returns a − b.
func (a CM31) Sub(b CM31) CM31 { return CM31{a.A0.Sub(b.A0), a.A1.Sub(b.A1)} }

// Neg returns −a.
func (a CM31) Neg() CM31 { return CM31{a.A0.Neg(), a.A1.Neg()} }

// Mul returns a·b.
func (a CM31) Mul(b CM31) CM31 {
	re := uint64(a.A0)*uint64(b.A0) + uint64(P-b.A1)*uint64(a.A1) // ≤ 2p²
	im := uint64(a.A0)*uint64(b.A1) + uint64(a.A1)*uint64(b.A0)
	return CM31{Reduce64(re), Reduce64(im)}
}

// MulM31 returns a·s.
func (a CM31) MulM31(s M31) CM31 { return CM31{a.A0.Mul(s), a.A1.Mul(s)} }

// Inv returns a^(−1), and 0 for a = 0.
func (a CM31) Inv() CM31 {
	n := a.A0.Square().Add(a.A1.Square()).Inv()
	return CM31{a.A0.Mul(n), a.A1.Neg().Mul(n)}
}
