package field

// Plain Go versions of the vector operations: the reference for the assembly,
// the tail of every vector, and all there is on other architectures.

func addVecGeneric(dst, a, b []M31) {
	for i := range dst {
		dst[i] = a[i].Add(b[i])
	}
}

func subVecGeneric(dst, a, b []M31) {
	for i := range dst {
		dst[i] = a[i].Sub(b[i])
	}
}

func mulVecGeneric(dst, a, b []M31) {
	for i := range dst {
		dst[i] = a[i].Mul(b[i])
	}
}

func scaleVecGeneric(dst, a []M31, s M31) {
	for i := range dst {
		dst[i] = a[i].Mul(s)
	}
}

func fromInt32VecGeneric(dst []M31, src []int32) {
	for i := range dst {
		dst[i] = FromInt32(src[i])
	}
}

func mulQM31VecGeneric(dst, a, b []QM31) {
	for i := range dst {
		dst[i] = a[i].Mul(b[i])
	}
}

func foldVecGeneric(dst, lo, hi []QM31, r QM31) {
	m := newMultiplier(r)
	for i := range dst {
		dst[i] = lo[i].Add(m.mul(hi[i].Sub(lo[i])))
	}
}

func foldM31VecGeneric(dst []QM31, lo, hi []M31, r QM31) {
	for i := range dst {
		dst[i] = r.MulM31(hi[i].Sub(lo[i])).AddM31(lo[i])
	}
}

// mulAdd returns d + s·a, with one reduction a limb.
func mulAdd(d QM31, a M31, s QM31) QM31 {
	m := uint64(a)
	return QM31{
		CM31{Reduce64(uint64(d.C0.A0) + m*uint64(s.C0.A0)), Reduce64(uint64(d.C0.A1) + m*uint64(s.C0.A1))},
		CM31{Reduce64(uint64(d.C1.A0) + m*uint64(s.C1.A0)), Reduce64(uint64(d.C1.A1) + m*uint64(s.C1.A1))},
	}
}

func mulAccVecGeneric(dst []QM31, a []M31, s QM31) {
	for i := range dst {
		dst[i] = mulAdd(dst[i], a[i], s)
	}
}

func mulAccInt32VecGeneric(dst []QM31, a []int32, s QM31) {
	for i := range dst {
		dst[i] = mulAdd(dst[i], FromInt32(a[i]), s)
	}
}

func embedVecGeneric(dst []QM31, a []M31) {
	for i := range dst {
		dst[i] = FromM31(a[i])
	}
}

func subInt32VecGeneric(dst []QM31, a []int32, s QM31) {
	for i := range dst {
		dst[i] = s
		dst[i].C0.A0 = s.C0.A0.Sub(FromInt32(a[i]))
	}
}

// An accumulator sums products of limbs with a partial reduction after each:
// 64-bit words that stay below 2^34 between additions, so that a product of
// two limbs, or three, always fits on top.
type accumulator [4]uint64

// fold reduces a word v < 2^64 to less than 2^34, keeping it mod p.
func fold(v uint64) uint64 { return v&P + v>>31 }

// addScaled adds a·w.
func (s *accumulator) addScaled(a M31, w QM31) {
	m := uint64(a)
	s[0] = fold(s[0] + m*uint64(w.C0.A0))
	s[1] = fold(s[1] + m*uint64(w.C0.A1))
	s[2] = fold(s[2] + m*uint64(w.C1.A0))
	s[3] = fold(s[3] + m*uint64(w.C1.A1))
}

// sum returns the total.
func (s *accumulator) sum() QM31 {
	return NewQM31(Reduce64(s[0]), Reduce64(s[1]), Reduce64(s[2]), Reduce64(s[3]))
}

func dotM31Generic(a []M31, w []QM31) QM31 {
	var s accumulator
	for i := range a {
		s.addScaled(a[i], w[i])
	}
	return s.sum()
}

func dotInt32Generic(a []int32, w []QM31) QM31 {
	var s accumulator
	for i := range a {
		s.addScaled(FromInt32(a[i]), w[i])
	}
	return s.sum()
}

func dotGeneric(a, b []QM31) QM31 {
	var s QM31
	for i := range a {
		s = s.Add(a[i].Mul(b[i]))
	}
	return s
}
