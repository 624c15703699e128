package field

// Plain Go versions of rounds.go: the reference for the assembly, the tail of
// every vector, and all there is on other architectures.

func roundSumsGeneric(a, b Halves) (zero, top QM31) {
	for i := range a.Lo {
		zero = zero.Add(a.Lo[i].Mul(b.Lo[i]))
		top = top.Add(a.Hi[i].Sub(a.Lo[i]).Mul(b.Hi[i].Sub(b.Lo[i])))
	}
	return zero, top
}

func roundSumsWeightedGeneric(w []QM31, a, b Halves) (zero, top QM31) {
	for i := range w {
		m := newMultiplier(w[i])
		zero = zero.Add(m.mul(a.Lo[i].Mul(b.Lo[i])))
		top = top.Add(m.mul(a.Hi[i].Sub(a.Lo[i]).Mul(b.Hi[i].Sub(b.Lo[i]))))
	}
	return zero, top
}

func fractionRoundSumsGeneric(w []QM31, n0, n1, d0, d1 Halves) (zero, top QM31) {
	for i := range w {
		m := newMultiplier(w[i])
		zero = zero.Add(m.mul(n0.Lo[i].Mul(d1.Lo[i]).Add(n1.Lo[i].Mul(d0.Lo[i]))))
		lead := n0.Hi[i].Sub(n0.Lo[i]).Mul(d1.Hi[i].Sub(d1.Lo[i])).
			Add(n1.Hi[i].Sub(n1.Lo[i]).Mul(d0.Hi[i].Sub(d0.Lo[i])))
		top = top.Add(m.mul(lead))
	}
	return zero, top
}

func addFractionsGeneric(num, den, n0, n1, d0, d1 []QM31) {
	for i := range num {
		a, b := newMultiplier(d0[i]), newMultiplier(d1[i])
		num[i], den[i] = b.mul(n0[i]).Add(a.mul(n1[i])), b.mul(d0[i])
	}
}

func addFractionsM31Generic(num, den []QM31, n0, n1 []M31, d0, d1 []QM31) {
	for i := range num {
		num[i], den[i] = mulAdd(d1[i].MulM31(n0[i]), n1[i], d0[i]), d0[i].Mul(d1[i])
	}
}

func mulAccQM31VecGeneric(dst, a []QM31, s QM31) {
	m := newMultiplier(s)
	for i := range dst {
		dst[i] = dst[i].Add(m.mul(a[i]))
	}
}
