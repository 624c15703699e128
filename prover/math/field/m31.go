package field

// P is the field's prime, 2^31 − 1.
const P = 1<<31 - 1

// M31 is an element of F_p in canonical form, an integer in [0, P).
type M31 uint32

// FromInt64 returns v mod p for any v.
func FromInt64(v int64) M31 {
	r := v % P
	if r < 0 {
		r += P
	}
	return M31(r)
}

// FromInt32 returns v mod p for any v.
func FromInt32(v int32) M31 {
	// A negative v gains 2p, which makes it non-negative: MinInt32 becomes
	// p−1 and −1 becomes 2p−1. The rest are at most p already.
	u := uint32(v) + uint32(v>>31)&(2*P)
	if u >= P {
		u -= P
	}
	return M31(u)
}

// Int64 returns the representative of a in [−(p−1)/2, (p−1)/2].
func (a M31) Int64() int64 {
	if a > P/2 {
		return int64(a) - P
	}
	return int64(a)
}

// Reduce64 returns v mod p for any 64-bit v.
func Reduce64(v uint64) M31 {
	v = (v & P) + (v >> 31) // < 2^31 + 2^33
	v = (v & P) + (v >> 31) // ≤ p + 5
	if v >= P {
		v -= P
	}
	return M31(v)
}

// Add returns a + b.
func (a M31) Add(b M31) M31 {
	s := uint32(a) + uint32(b)
	if s >= P {
		s -= P
	}
	return M31(s)
}

// Sub returns a − b.
func (a M31) Sub(b M31) M31 {
	d := uint32(a) - uint32(b)
	// A borrow leaves the top bit set; adding p corrects it.
	d += P & uint32(int32(d)>>31)
	return M31(d)
}

// Neg returns −a.
func (a M31) Neg() M31 {
	if a == 0 {
		return 0
	}
	return P - a
}

// Double returns 2a.
func (a M31) Double() M31 { return a.Add(a) }

// Mul returns a·b.
func (a M31) Mul(b M31) M31 {
	v := uint64(a) * uint64(b) // ≤ (p−1)²
	v = (v & P) + (v >> 31)    // ≤ p + (p−2) < 2p
	if v >= P {
		v -= P
	}
	return M31(v)
}

// Square returns a².
func (a M31) Square() M31 { return a.Mul(a) }

// Exp returns a^e.
func (a M31) Exp(e uint64) M31 {
	r, b := M31(1), a
	for ; e > 0; e >>= 1 {
		if e&1 == 1 {
			r = r.Mul(b)
		}
		b = b.Mul(b)
	}
	return r
}

// Inv returns a^(−1), and 0 for a = 0.
func (a M31) Inv() M31 { return a.Exp(P - 2) }

// Mul2Exp returns a·2^k for 0 ≤ k < 31: a rotation of the 31-bit word.
func (a M31) Mul2Exp(k uint) M31 {
	return M31((uint32(a)<<k | uint32(a)>>(31-k)) & P)
}

// Div2Exp returns a·2^(−k) for 0 ≤ k ≤ 31.
func (a M31) Div2Exp(k uint) M31 { return a.Mul2Exp((31 - k) % 31) }
