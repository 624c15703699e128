package poly

import "github.com/prove-model/prove-model/prover/math/field"

// SplitEq is the weight w(x) = eq(r, x_0 … x_{e−1}) of the points x of
// {0,1}^m, m = e + free, kept as two tables of about 2^(m/2) entries
// (Bagad, Dao, Domb, Thaler, 2025/1117):
//
//	w(x) = Outer[x >> InnerVars] · Inner[x mod 2^InnerVars]
//
// Inner is nil if it would be all ones. A sumcheck that binds the variables
// in order drops them one by one (DropFirst) and never builds a table of 2^m entries.
type SplitEq struct {
	Outer, Inner []field.QM31
	InnerVars    int
	innerEq      int // how many variables of Inner are variables of eq; the free ones come behind these
}

// minUnweightedVars is the least number of free variables with which Inner is nil: each row of
// the free variables is then summed without weights, and the sum is weighted. For shorter rows the calls would
// cost more than products with repeated weights.
const minUnweightedVars = 5

// NewSplitEq returns the weights eq(r, ·) on len(r) variables followed by
// `free` variables on which the weight does not depend.
func NewSplitEq(r []field.QM31, free int) SplitEq {
	e := len(r)
	inner := free
	if free < minUnweightedVars {
		inner = max(free, (e+free+1)/2)
	}
	s := SplitEq{InnerVars: inner, innerEq: inner - free}
	s.Outer = EqTable(r[:e-s.innerEq])
	if s.innerEq > 0 {
		s.Inner = make([]field.QM31, 1<<inner)
		for i, w := range EqTable(r[e-s.innerEq:]) {
			row := s.Inner[i<<free : (i+1)<<free]
			for k := range row {
				row[k] = w
			}
		}
	}
	return s
}

// DropFirst removes variable 0 of the weight: eq(r, ·) becomes eq(r[1:], ·), or there is one free variable
// less. Since eq(r_0, 0) + eq(r_0, 1) = 1, the sum of the two halves of a table is the table without its
// first variable.
func (s *SplitEq) DropFirst() {
	switch {
	case len(s.Outer) > 1:
		s.Outer = foldHalves(s.Outer)
	case s.innerEq > 0:
		s.innerEq--
		s.InnerVars--
		s.Inner = foldHalves(s.Inner)
		if s.innerEq == 0 {
			s.Inner = nil
		}
	default:
		s.InnerVars--
	}
}

// foldHalves returns the sum of the two halves of t, in the memory of the first.
func foldHalves(t []field.QM31) []field.QM31 {
	h := len(t) / 2
	for i := range h {
		t[i] = t[i].Add(t[i+h])
	}
	return t[:h]
}

// Rows calls f for every piece of [lo, hi) that lies in one row, with the
// row's weight and the inner weights of the piece, one for each entry (nil if
// all are one):
//
//	Σ_{lo≤x<hi} w(x)·g(x) = Σ_pieces weight · Σ_k inner[k]·g(from+k)
func (s *SplitEq) Rows(lo, hi int, f func(from, to int, weight field.QM31, inner []field.QM31)) {
	size := 1 << s.InnerVars
	for from := lo; from < hi; {
		row := from >> s.InnerVars
		to := min(hi, (row+1)<<s.InnerVars)
		var inner []field.QM31
		if s.Inner != nil {
			at := from & (size - 1)
			inner = s.Inner[at : at+to-from]
		}
		f(from, to, s.Outer[row], inner)
		from = to
	}
}
