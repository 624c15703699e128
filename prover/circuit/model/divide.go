package model

import (
	"errors"

	"github.com/prove-model/prove-model/prover/math/field"
)

// Division are the accumulators of the steps that follow a StepDivide, which
// computes a quotient q and a remainder r and constrains neither. Right after it
// stand
//
//	a zero step        Equation = acc − den·q − r = 0
//	a range look-up    0 ≤ r < 2^a
//	a range look-up    0 ≤ Below = den − 1 − r < 2^b
//	a range look-up    0 ≤ Partial < 2^c      (long divisions)
//
// Each look-up is one step, or two if it has a remainder of its own. Anywhere in
// the circuit there must also be a look-up of q alone, which bounds q. The
// quantiser adds these steps, and Validate demands them, with the same code.
//
// These steps force q and r, whatever the accumulator and the divisor are. From
// the ranges, 0 ≤ r < den < 2^a + 2^b ≤ p as integers.
//
// A short division has q in an interval of n integers, n a table's rows, with
// (2^a + 2^b − 1)·(n − 1) + 2^a ≤ p. If (q, r) and (q', r') both satisfy the
// equation, then den·(q − q') = r' − r modulo p; both sides lie within less than
// p of each other, so this holds over the integers, where |r' − r| < den leaves
// q = q' and r = r'.
//
// A long division has a divisor in two parts, den = A·high + B·low with positive
// A and B, high < 2^h, low < 2^l and q < 2^n, where h + n ≤ 30: so Partial, which
// is high·q, is that over the integers. With A·2^h + B·2^l ≤ p the divisor is the
// integer that its parts say, and with A·2^c + B·2^(l+n) + 2^a ≤ p the integer
// den·q + r = A·Partial + B·low·q + r is below p. So it is the accumulator's
// representative in [0, p), and q and r are what dividing that leaves.
type Division struct {
	Equation Acc
	Below    Acc
	// Partial is nil unless the divisor has two parts.
	Partial *Acc
	parts   []Linear // A·high and B·low, the two parts of the divisor; nil if it has not two parts
}

// Division returns the constraints on a StepDivide whose accumulator and tensors
// are valid.
func (g *Graph) Division(s *Step) Division {
	all := Axes(len(s.Shape))
	// If the divisor is a positive multiple of a view that only permutes axes and repeats, the equation has the product with the
	// smaller tensor that is viewed.
	den, labels := Linear{Coef: 1, Src: s.Den}, all
	if def := g.Tensors[s.Den].Def; len(def) == 1 && def[0].Coef > 0 {
		if l, ok := def[0].View.labels(g.Tensors[def[0].Src].Shape, s.Shape); ok {
			den, labels = def[0], l
		}
	}
	d := Division{
		Equation: Acc{
			Const:    s.Acc.Const,
			Linear:   append(append([]Linear(nil), s.Acc.Linear...), Linear{Coef: -1, Src: s.Lo}),
			Products: append(append([]Product(nil), s.Acc.Products...), Product{Coef: -den.Coef, A: den.Src, B: s.Out, LabelsA: labels, LabelsB: all}),
		},
		Below: Acc{Const: -1, Linear: []Linear{den, {Coef: -1, Src: s.Lo}}},
	}
	def := g.Tensors[den.Src].Def
	if len(def) == 2 && def[0].Coef > 0 && def[1].Coef > 0 && def[0].View == nil && def[1].View == nil {
		d.parts = []Linear{{Coef: den.Coef * def[0].Coef, Src: def[0].Src}, {Coef: den.Coef * def[1].Coef, Src: def[1].Src}}
		d.Partial = &Acc{Products: []Product{{Coef: 1, A: def[0].Src, B: s.Out, LabelsA: labels, LabelsB: all}}}
	}
	return d
}

// labels returns the output axis of every source axis, for a view that only permutes axes and repeats
// along others. A product can then have the source as an operand, with these labels, in place of the
// view. ok is false for other views, and for any view with a fill value.
func (v *View) labels(in, out []int) ([]int, bool) {
	if v == nil {
		return Axes(len(in)), true
	}
	if v.Fill != 0 {
		return nil, false
	}
	labels := make([]int, len(in))
	for i := range v.Groups {
		g := &v.Groups[i]
		if g.Map != MapAffine || len(g.Out) != 1 || g.Base != 0 || len(g.Sum) != 0 {
			return nil, false
		}
		switch {
		case len(g.In) == 0 && g.Strides[0] == 0:
		case len(g.In) == 1 && g.Strides[0] == 1 && in[g.In[0]] == out[g.Out[0]]:
			labels[g.In[0]] = g.Out[0]
		default:
			return nil, false
		}
	}
	return labels, true
}

// validateDivision checks that the steps that constrain the division at step i
// follow it.
func (g *Graph) validateDivision(i int, r *ranges) error {
	s := &g.Steps[i]
	d := g.Division(s)
	if i+1 >= len(g.Steps) || g.Steps[i+1].Kind != StepZero || !g.Steps[i+1].is(s.Shape, &d.Equation) {
		return errors.New("a division that its equation does not follow")
	}
	at := i + 2
	next := func(acc *Acc) int64 { // the size of the range of the look-up at step at, which must be of acc; at moves behind it
		size, steps := g.rangeOf(at, s.Shape, acc)
		at += steps
		return size
	}
	a, b := next(&Acc{Linear: []Linear{{Coef: 1, Src: s.Lo}}}), next(&d.Below)
	if a == 0 || b == 0 {
		return errors.New("a division that the ranges of its remainder do not follow")
	}
	q, ok := r.within.of(s.Out)
	if !ok {
		return errors.New("a division whose quotient is looked up in no table")
	}
	if !fits(term{a, 1}, term{b, 1}) {
		return errors.New("a division whose divisor may wrap")
	}
	if fits(term{a + b - 1, 1<<q - 1}, term{a, 1}) {
		return nil
	}
	if d.Partial == nil {
		return errors.New("a division whose sides may wrap")
	}
	c := next(d.Partial)
	high, okHigh := r.from0.of(d.parts[0].Src)
	low, okLow := r.from0.of(d.parts[1].Src)
	q, ok = r.from0.of(s.Out)
	if c == 0 || !okHigh || !okLow || !ok {
		return errors.New("a long division without the ranges of its parts")
	}
	if high+q > 30 || low+q > 30 ||
		!fits(term{d.parts[0].Coef, 1 << high}, term{d.parts[1].Coef, 1 << low}) ||
		!fits(term{d.parts[0].Coef, c}, term{d.parts[1].Coef, 1 << (low + q)}, term{a, 1}) {
		return errors.New("a long division whose sides may wrap")
	}
	return nil
}

// term is a product of two non-negative integers below 2^62.
type term [2]int64

// fits reports whether a sum of products is at most p. It does not overflow.
func fits(sum ...term) bool {
	left := int64(field.P)
	for _, t := range sum {
		if t[1] != 0 && t[0] > left/t[1] {
			return false
		}
		left -= t[0] * t[1]
	}
	return true
}

// is reports whether a step has this shape and this accumulator, term by term.
func (s *Step) is(shape []int, acc *Acc) bool {
	return sameShape(s.Shape, shape) == nil && s.Acc.equal(acc)
}

// rangeOf returns 2^n if step i looks the accumulator acc up in the range [0, 2^n), and the number of steps that this takes: 1, or 2 if the
// next step has to look up the remainder of step i. If the steps do not do that it returns zeros.
func (g *Graph) rangeOf(i int, shape []int, acc *Acc) (size int64, steps int) {
	if i >= len(g.Steps) || !g.Steps[i].is(shape, acc) {
		return 0, 0
	}
	bits, low := g.Steps[i].rangeBits(g), g.Steps[i].Lo
	if bits >= 0 && low == None {
		return 1 << bits, 1
	}
	rest := Acc{Linear: []Linear{{Coef: 1, Src: low}}}
	if bits < 0 || i+1 >= len(g.Steps) || !g.Steps[i+1].is(shape, &rest) || g.Steps[i+1].Lo != None {
		return 0, 0
	}
	if n := g.Steps[i+1].rangeBits(g); n < 0 || n > g.Steps[i].Shift {
		return 0, 0
	}
	return 1 << bits, 2
}

// rangeBits returns n if the step looks its accumulator up in a table with keys from 0, so that it is in [0, 2^n) provided that the
// remainder, if there is one, is below 2^Shift. It returns −1 for other steps. The table may have values.
func (s *Step) rangeBits(g *Graph) int {
	if s.Kind != StepLookup {
		return -1
	}
	// The remainder of a look-up may itself be looked up with a shift. As every table there has at least one bit, each remainder
	// in such a chain has a smaller shift than the one before, so the chain ends in a look-up without a shift.
	t := &g.Tables[s.Table]
	if t.Min != 0 || s.Shift > 0 && t.Bits == 0 {
		return -1
	}
	return s.Shift + t.Bits
}
