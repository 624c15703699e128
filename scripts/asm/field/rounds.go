package main

import (
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

// roundKernels are the kernels of sumcheck rounds, and those that add the fractions of
// LogUp's tree. n counts elements of K, a positive multiple of 4.
func roundKernels(lanes int, spread Mem) {
	// sumsKernel emits a function with two sums over the elements of the tables in names:
	// that of the terms of their values at 0 (Lo), and that of the terms of their
	// differences (Hi − Lo). term returns the quads of the terms of one register of
	// elements, where get(i) loads table i. If weighted is set, terms are multiplied by w.
	sumsKernel := func(name, signature, doc string, weighted bool, names []string, term func(g *vec.Gen, va *variable, p64 reg.VecVirtual, get func(i int) reg.VecVirtual) (even, odd reg.VecVirtual)) {
		g := vec.New(lanes, name, signature, doc)
		var w []reg.GPVirtual
		if weighted {
			w = append(w, vec.Pointer("w"))
		}
		lo, hi := make([]reg.GPVirtual, len(names)), make([]reg.GPVirtual, len(names))
		for i, s := range names {
			lo[i], hi[i] = vec.Pointer(s+"Lo"), vec.Pointer(s+"Hi")
		}
		n := vec.Pointer("n")
		va := newVariable(g)
		zero, top := newTotal(g), newTotal(g)
		top.p64 = zero.p64
		g.Blocks(n, 2, func(o int) {
			var m factors
			if weighted {
				m = va.of(g.Load(vec.At(w[0], o))).prepared(g)
			}
			add := func(t *total, get func(i int) reg.VecVirtual) {
				even, odd := term(g, va, zero.p64, get)
				if weighted {
					even, odd = product(g, g.Reduce(even, odd), m)
				}
				t.add(even, odd)
			}
			add(zero, func(i int) reg.VecVirtual { return g.Load(vec.At(lo[i], o)) })
			add(top, func(i int) reg.VecVirtual { return g.Sub(g.Load(vec.At(hi[i], o)), vec.At(lo[i], o)) })
		}, slices.Concat(w, lo, hi)...)
		sums := vec.Pointer("sums")
		zero.store(sums)
		ADDQ(U8(32), sums)
		top.store(sums)
		g.End()
	}
	mul := func(g *vec.Gen, va *variable, a, b reg.VecVirtual) (even, odd reg.VecVirtual) {
		return product(g, a, va.of(b))
	}
	single := func(g *vec.Gen, va *variable, _ reg.VecVirtual, get func(i int) reg.VecVirtual) (even, odd reg.VecVirtual) {
		return mul(g, va, get(0), get(1))
	}
	sumsKernel("roundSums", "func(sums *[2][4]uint64, aLo, aHi, bLo, bHi *uint32, n uint64)",
		"sets sums to Σ aLo[i]·bLo[i] and Σ (aHi[i] − aLo[i])·(bHi[i] − bLo[i]) for K, limbs not reduced, 4 | n > 0, n < 2^28.",
		false, []string{"a", "b"}, single)
	sumsKernel("roundSumsWeighted", "func(sums *[2][4]uint64, w, aLo, aHi, bLo, bHi *uint32, n uint64)",
		"is roundSums with every term multiplied by w[i].",
		true, []string{"a", "b"}, single)
	sumsKernel("fractionRoundSums", "func(sums *[2][4]uint64, w, n0Lo, n0Hi, n1Lo, n1Hi, d0Lo, d0Hi, d1Lo, d1Hi *uint32, n uint64)",
		"is roundSumsWeighted with n0·d1 + n1·d0 in place of a·b.",
		true, []string{"n0", "n1", "d0", "d1"},
		func(g *vec.Gen, va *variable, p64 reg.VecVirtual, get func(i int) reg.VecVirtual) (even, odd reg.VecVirtual) {
			even, odd = mul(g, va, get(0), get(3))
			even2, odd2 := mul(g, va, get(1), get(2))
			for _, q := range []reg.VecVirtual{even, odd, even2, odd2} {
				g.Fold(q, p64)
			}
			VPADDQ(even2, even, even)
			VPADDQ(odd2, odd, odd)
			return even, odd
		})

	g := vec.New(lanes, "addFractions", "func(num, den, n0, n1, d0, d1 *uint32, n uint64)",
		"sets num[i] = n0[i]·d1[i] + n1[i]·d0[i] and den[i] = d0[i]·d1[i] for K, 4 | n > 0.")
	num, den, n0, n1, d0, d1, n := vec.Pointer("num"), vec.Pointer("den"), vec.Pointer("n0"), vec.Pointer("n1"), vec.Pointer("d0"), vec.Pointer("d1"), vec.Pointer("n")
	va := newVariable(g)
	g.Blocks(n, 2, func(o int) {
		a := g.Load(vec.At(d0, o))
		m := va.of(g.Load(vec.At(d1, o)))
		first := g.Reduce(product(g, g.Load(vec.At(n0, o)), m))
		g.Move(g.Reduce(product(g, a, m)), vec.At(den, o))
		second := g.Reduce(product(g, g.Load(vec.At(n1, o)), va.of(a)))
		g.Move(g.Add(first, second), vec.At(num, o))
	}, num, den, n0, n1, d0, d1)
	g.End()

	g = vec.New(lanes, "addFractionsM31", "func(num, den, n0, n1, d0, d1 *uint32, n uint64)",
		"is addFractions for n0 and n1 in the base field, 16 | n > 0.")
	num, den, n0, n1, d0, d1, n = vec.Pointer("num"), vec.Pointer("den"), vec.Pointer("n0"), vec.Pointer("n1"), vec.Pointer("d0"), vec.Pointer("d1"), vec.Pointer("n")
	va = newVariable(g)
	sp := newSpreader(g, spread)
	sp.blocks(n, []reg.GPVirtual{n0, n1}, []reg.GPVirtual{num, den, d0, d1}, func(at int) func(i, o int) {
		x, y := g.Load(vec.At(n0, at)), g.Load(vec.At(n1, at))
		return func(i, o int) {
			a, b := g.Load(vec.At(d0, o)), g.Load(vec.At(d1, o))
			xs, ys := sp.spread(x, i), sp.spread(y, i)
			even, odd, even2, odd2 := g.Reg(), g.Down(b), g.Reg(), g.Down(a)
			VPMULUDQ(xs, b, even)
			VPMULUDQ(xs, odd, odd)
			VPMULUDQ(ys, a, even2)
			VPMULUDQ(ys, odd2, odd2)
			VPADDQ(even2, even, even)
			VPADDQ(odd2, odd, odd)
			g.Move(g.Reduce(even, odd), vec.At(num, o))
			g.Move(g.Reduce(product(g, a, va.of(b))), vec.At(den, o))
		}
	})
	g.End()

	g = vec.New(lanes, "mulAccQM31Vec", "func(dst, a *uint32, s *[6][2]uint64, n uint64)",
		"sets dst[i] += s·a[i] for K, 4 | n > 0.")
	dst, a, n := vec.Pointer("dst"), vec.Pointer("a"), vec.Pointer("n")
	m := newFixed(g, vec.Pointer("s"))
	g.Blocks(n, 2, func(o int) {
		d := vec.At(dst, o)
		g.Move(g.Add(g.Reduce(product(g, g.Load(vec.At(a, o)), m)), d), d)
	}, dst, a)
	g.End()
}

// prepared computes the factors once for several products, if there are enough
// registers to keep them.
func (va *variable) prepared(g *vec.Gen) factors {
	if g.Lanes < 16 {
		return va
	}
	var f fixed
	f[0], f[1] = va.lower(g)
	f[2] = va.lowerNegated(g, f[1])
	f[3], f[4] = va.upper(g)
	f[5] = va.upperNegated(g, f[4])
	return &f
}
