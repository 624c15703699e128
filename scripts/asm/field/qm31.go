package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

// Elements of K stay as they lie in memory, four limbs side by side, so that
// a register has 4 (AVX-512) or 2 (AVX2) of them. In the notation of
// multiplier in prover/math/field, with x = (a0, a2), y = (a1, a3) in the quads of
// an element and x̄, ȳ the same with the quads exchanged:
//
//	(c0, c2) = x·(b0, b0) + x̄·(e, b2) + y·(−b1, −b1) + ȳ·(−f, −b3)
//	(c1, c3) = x·(b1, b1) + x̄·(f, b3) + y·(b0, b0)   + ȳ·(e, b2)

// factors gives the quads of b above, in steps. So quads that are computed for a
// variable b take registers only while they are needed: AVX2 has 16 registers.
type factors interface {
	// lower returns (b0, b0) and (b1, b1).
	lower(g *vec.Gen) (b0, b1 reg.VecVirtual)
	// lowerNegated returns (−b1, −b1), given (b1, b1).
	lowerNegated(g *vec.Gen, b1 reg.VecVirtual) reg.VecVirtual
	// upper returns (e, b2) and (f, b3).
	upper(g *vec.Gen) (w, v reg.VecVirtual)
	// upperNegated returns (−f, −b3), given (f, b3).
	upperNegated(g *vec.Gen, v reg.VecVirtual) reg.VecVirtual
}

// fixed are the factors of a b that stays the same over the loop.
type fixed [6]reg.VecVirtual

func (f *fixed) lower(*vec.Gen) (b0, b1 reg.VecVirtual)               { return f[0], f[1] }
func (f *fixed) lowerNegated(*vec.Gen, reg.VecVirtual) reg.VecVirtual { return f[2] }
func (f *fixed) upper(*vec.Gen) (w, v reg.VecVirtual)                 { return f[3], f[4] }
func (f *fixed) upperNegated(*vec.Gen, reg.VecVirtual) reg.VecVirtual { return f[5] }

// newFixed loads the six factors from a table, in the order of the interface.
func newFixed(g *vec.Gen, table reg.GPVirtual) *fixed {
	var f fixed
	for i := range f {
		f[i] = g.BroadcastQuads(vec.At(table, 16*i))
	}
	return &f
}

// variable computes the factors of the elements in a register b, which changes over the loop.
type variable struct {
	b           reg.VecVirtual
	first, last reg.Register // masks of an element's first and last two lanes (AVX-512)
}

// newVariable loads the masks, which are constant over the loop.
func newVariable(g *vec.Gen) *variable {
	if g.Lanes < 16 {
		return &variable{}
	}
	return &variable{first: g.Mask(0x1111), last: g.Mask(0xcccc)}
}

// of returns the factors of b.
func (va variable) of(b reg.VecVirtual) *variable {
	va.b = b
	return &va
}

func (va *variable) lower(g *vec.Gen) (b0, b1 reg.VecVirtual) {
	return shuffle(g, va.b, 0x00), shuffle(g, va.b, 0x55)
}

func (va *variable) lowerNegated(g *vec.Gen, b1 reg.VecVirtual) reg.VecVirtual { return negate(g, b1) }
func (va *variable) upperNegated(g *vec.Gen, v reg.VecVirtual) reg.VecVirtual  { return negate(g, v) }

// negate returns p − a.
func negate(g *vec.Gen, a reg.VecVirtual) reg.VecVirtual {
	v := g.Reg()
	g.Xor(a, g.P(), v)
	return v
}

func (va *variable) upper(g *vec.Gen) (w, v reg.VecVirtual) {
	// (e, f) = (2·b2 − b3, 2·b3 + b2) goes into the first two lanes, and b2 and b3 stay in the last two.
	twice := g.Double(shuffle(g, va.b, 0xee)) // (2·b2, 2·b3, …)
	other := shuffle(g, va.b, 0xbb)           // (b3, b2, …)
	if g.Lanes == 16 {                        // (p − b3, b2, …)
		VPXORD(g.P(), other, va.first, other)
	} else {
		other = g.Blend(0x1, nil, other, negate(g, other))
	}
	w = g.Blend(0xc, va.last, g.Add(twice, other), va.b) // (e, f, b2, b3)
	return w, g.Down(w)
}

func shuffle(g *vec.Gen, a reg.VecVirtual, imm uint8) reg.VecVirtual {
	v := g.Reg()
	VPSHUFD(U8(imm), a, v)
	return v
}

// product returns the quads of a·b, not reduced, at most 4p². a holds values
// of at most p.
func product(g *vec.Gen, a reg.VecVirtual, b factors) (even, odd reg.VecVirtual) {
	mul := func(a, b reg.VecVirtual) reg.VecVirtual {
		v := g.Reg()
		VPMULUDQ(a, b, v)
		return v
	}
	acc := func(sum, a, b reg.VecVirtual) { VPADDQ(mul(a, b), sum, sum) }

	b0, b1 := b.lower(g)
	even, odd = mul(a, b0), mul(a, b1)
	y := g.Down(a)
	acc(even, y, b.lowerNegated(g, b1))
	acc(odd, y, b0)

	w, v := b.upper(g)
	x := shuffle(g, a, 0x4e) // x̄
	acc(even, x, w)
	acc(odd, x, v)
	y = shuffle(g, a, 0x1b) // ȳ
	acc(even, y, b.upperNegated(g, v))
	acc(odd, y, w)
	return even, odd
}

// qm31Kernels are the operations on vectors of K. n counts elements, a
// positive multiple of 4.
func qm31Kernels(lanes int) {
	g := vec.New(lanes, "foldVec", "func(dst, lo, hi *uint32, r *[6][2]uint64, n uint64)",
		"sets dst[i] = lo[i] + r·(hi[i] − lo[i]) for K, 4 | n > 0.")
	dst, lo, hi, n := vec.Pointer("dst"), vec.Pointer("lo"), vec.Pointer("hi"), vec.Pointer("n")
	r := newFixed(g, vec.Pointer("r"))
	g.Blocks(n, 2, func(o int) {
		l := g.Load(vec.At(lo, o))
		p := g.Reduce(product(g, g.Sub(g.Load(vec.At(hi, o)), l), r))
		g.Move(g.Add(p, l), vec.At(dst, o))
	}, dst, lo, hi)
	g.End()

	g = vec.New(lanes, "eqVec", "func(lo, hi *uint32, r *[6][2]uint64, n uint64)",
		"sets hi[i] = lo[i]·r, then lo[i] −= hi[i], for K, 4 | n > 0.")
	lo, hi, n = vec.Pointer("lo"), vec.Pointer("hi"), vec.Pointer("n")
	r = newFixed(g, vec.Pointer("r"))
	g.Blocks(n, 2, func(o int) {
		l := g.Load(vec.At(lo, o))
		h := g.Reduce(product(g, l, r))
		g.Move(h, vec.At(hi, o))
		g.Move(g.Sub(l, h), vec.At(lo, o))
	}, lo, hi)
	g.End()

	g = vec.New(lanes, "mulQM31Vec", "func(dst, a, b *uint32, n uint64)", "sets dst[i] = a[i]·b[i] for K, 4 | n > 0.")
	dst, a, b, n := vec.Pointer("dst"), vec.Pointer("a"), vec.Pointer("b"), vec.Pointer("n")
	va := newVariable(g)
	g.Blocks(n, 2, func(o int) {
		g.Move(g.Reduce(product(g, g.Load(vec.At(a, o)), va.of(g.Load(vec.At(b, o))))), vec.At(dst, o))
	}, dst, a, b)
	g.End()

	g = vec.New(lanes, "dot", "func(sum *[4]uint64, a, b *uint32, n uint64)",
		"sets sum to Σ a[i]·b[i] for K, limbs not reduced, 4 | n > 0, n < 2^28.")
	a, b, n = vec.Pointer("a"), vec.Pointer("b"), vec.Pointer("n")
	va = newVariable(g)
	total := newTotal(g)
	g.Blocks(n, 2, func(o int) {
		total.add(product(g, g.Load(vec.At(a, o)), va.of(g.Load(vec.At(b, o)))))
	}, a, b)
	total.store(vec.Pointer("sum"))
	g.End()
}

// total sums products in quads. Each product is first folded below 2^34.
type total struct {
	g              *vec.Gen
	p64, even, odd reg.VecVirtual
}

func newTotal(g *vec.Gen) *total { return &total{g, g.P64(), g.Zero(), g.Zero()} }

func (t *total) add(even, odd reg.VecVirtual) {
	t.g.Fold(even, t.p64)
	t.g.Fold(odd, t.p64)
	VPADDQ(even, t.even, t.even)
	VPADDQ(odd, t.odd, t.odd)
}

// store writes the four limbs of the total over all elements of the register
// to p. Below 2^28 elements nothing can overflow.
func (t *total) store(p reg.GPVirtual) {
	even, odd := t.g.Narrow(t.even), t.g.Narrow(t.odd)
	lo, hi := XMM(), XMM()
	VPUNPCKLQDQ(odd, even, lo)
	VPUNPCKHQDQ(odd, even, hi)
	VMOVDQU(lo, vec.At(p, 0))
	VMOVDQU(hi, vec.At(p, 16))
}
