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

// Mul returns a·b: 16 products of limbs, sums of them below 2^64 reduced once
// each.
func (a QM31) Mul(b QM31) QM31 {
	a0, a1, a2, a3 := uint64(a.C0.A0), uint64(a.C0.A1), uint64(a.C1.A0), uint64(a.C1.A1)
	b0, b1, b2, b3 := uint64(b.C0.A0), uint64(b.C0.A1), uint64(b.C1.A0), uint64(b.C1.A1)
	n1, n3 := P-b1, P-b3
	// The parts of (a2 + a3·i)·(b2 + b3·i). Each is at most 2p², and below 3·2^31 after the partial reduction. Below, 4p is added so
	// that subtracting im does not go below zero.
	re, im := a2*b2+a3*n3, a2*b3+a3*b2
	re, im = re&P+re>>31, im&P+im>>31
	return QM31{
		CM31{
			Reduce64(a0*b0 + a1*n1 + 2*re + 4*P - im), // u² = 2 + i
			Reduce64(a0*b1 + a1*b0 + 2*im + re),
		},
		CM31{
			Reduce64(a0*b2 + a1*n3 + a2*b0 + a3*n1),
			Reduce64(a0*b3 + a1*b2 + a2*b1 + a3*b0),
		},
	}
}

// A multiplier is an element b of K made ready to multiply many others by: its
// limbs, those of e + f·i = u²·(b2 + b3·i), and the negatives that occur in
//
//	c0 = a0·b0 − a1·b1 + a2·e  − a3·f
//	c1 = a0·b1 + a1·b0 + a2·f  + a3·e
//	c2 = a0·b2 − a1·b3 + a2·b0 − a3·b1
//	c3 = a0·b3 + a1·b2 + a2·b1 + a3·b0
//
// where each sum is at most 4p² < 2^64.
type multiplier struct {
	b0, b1, b2, b3, e, f uint64
	n1, n3, nf           uint64 // p − b1, p − b3, p − f
}

// newMultiplier prepares b.
func newMultiplier(b QM31) multiplier {
	g := mulByU2(b.C1)
	return multiplier{
		b0: uint64(b.C0.A0), b1: uint64(b.C0.A1), b2: uint64(b.C1.A0), b3: uint64(b.C1.A1),
		e: uint64(g.A0), f: uint64(g.A1),
		n1: uint64(P - b.C0.A1), n3: uint64(P - b.C1.A1), nf: uint64(P - g.A1),
	}
}

// mul returns a·b.
func (m *multiplier) mul(a QM31) QM31 {
	a0, a1, a2, a3 := uint64(a.C0.A0), uint64(a.C0.A1), uint64(a.C1.A0), uint64(a.C1.A1)
	return QM31{
		CM31{Reduce64(a0*m.b0 + a1*m.n1 + a2*m.e + a3*m.nf), Reduce64(a0*m.b1 + a1*m.b0 + a2*m.f + a3*m.e)},
		CM31{Reduce64(a0*m.b2 + a1*m.n3 + a2*m.b0 + a3*m.n1), Reduce64(a0*m.b3 + a1*m.b2 + a2*m.b1 + a3*m.b0)},
	}
}

// table returns the factors as the kernels load them: each pair has the factor for the even
// and that for the odd limbs of the result (scripts/asm/field/qm31.go).
func (m *multiplier) table() *[6][2]uint64 {
	return &[6][2]uint64{{m.b0, m.b0}, {m.b1, m.b1}, {m.n1, m.n1}, {m.e, m.b2}, {m.f, m.b3}, {m.nf, m.n3}}
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

// Powers returns first·g^0, first·g^1 and so on, n of them.
func Powers(first, g QM31, n int) []QM31 {
	p := make([]QM31, n)
	for i := range p {
		p[i] = first
		first = first.Mul(g)
	}
	return p
}

// IsZero reports whether a = 0.
func (a QM31) IsZero() bool { return a == QM31{} }
