package field

// QM31 is an element C0 + C1·u of K = F_p(i)(u), u² = 2 + i. In memory it is
// four M31 limbs [a0, a1, a2, a3] for (a0 + a1·i) + (a2 + a3·i)·u.
type QM31 struct{ C0, C1 CM31 }

// NewQM31 returns (a0 + a1·i) + (a2 + a3·i)·u. The limbs must be canonical.
func NewQM31(a0, a1, a2, a3 M31) QM31 { return QM31{CM31{a0, a1}, CM31{a2, a3}} }

// FromM31 embeds a base-field element.
func FromM31(a M31) QM31 { return QM31{C0: CM31{A0: a}} }

// Zero and One are the neutral elements of K.
var (
	Zero = QM31{}
	One  = FromM31(1)
)

// Limbs returns [a0, a1, a2, a3].
func (a QM31) Limbs() [4]M31 { return [4]M31{a.C0.A0, a.C0.A1, a.C1.A0, a.C1.A1} }

// Add returns a + b.
func (a QM31) Add(b QM31) QM31 { return QM31{a.C0.Add(b.C0), a.C1.Add(b.C1)} }

// Sub returns a − b.
func (a QM31) Sub(b QM31) QM31 { return QM31{a.C0.Sub(b.C0), a.C1.Sub(b.C1)} }

// Neg returns −a.
func (a QM31) Neg() QM31 { return QM31{a.C0.Neg(), a.C1.Neg()} }

// Double returns 2a.
func (a QM31) Double() QM31 { return a.Add(a) }

// mulByU2 returns (2 + i)·a.
func mulByU2(a CM31) CM31 {
	return CM31{a.A0.Double().Sub(a.A1), a.A1.Double().Add(a.A0)}
}

// Mul returns a·b.
func (a QM31) Mul(b QM31) QM31 {
	v0 := a.C0.Mul(b.C0)
	v1 := a.C1.Mul(b.C1)
	cross := a.C0.Add(a.C1).Mul(b.C0.Add(b.C1)).Sub(v0).Sub(v1)
	return QM31{v0.Add(mulByU2(v1)), cross}
}

// Square returns a².
func (a QM31) Square() QM31 { return a.Mul(a) }

// MulM31 returns a·s.
func (a QM31) MulM31(s M31) QM31 { return QM31{a.C0.MulM31(s), a.C1.MulM31(s)} }

// AddM31 returns a + s.
func (a QM31) AddM31(s M31) QM31 {
	a.C0.A0 = a.C0.A0.Add(s)
	return a
}

// Inv returns a^(−1), and 0 for a = 0.
func (a QM31) Inv() QM31 {
	n := a.C0.Mul(a.C0).Sub(mulByU2(a.C1.Mul(a.C1))).Inv()
	return QM31{a.C0.Mul(n), a.C1.Neg().Mul(n)}
}

// Exp returns a^e.
func (a QM31) Exp(e uint64) QM31 {
	r := One
	for ; e > 0; e >>= 1 {
		if e&1 == 1 {
			r = r.Mul(a)
		}
		a = a.Mul(a)
	}
	return r
}

// IsZero reports whether a = 0.
func (a QM31) IsZero() bool { return a == QM31{} }
