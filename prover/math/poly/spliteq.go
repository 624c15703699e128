package poly

import "github.com/prove-model/prove-model/prover/math/field"

// SplitEq is the weight w(x) = eq(r, x_0 … x_{e−1}) of the points x of
// {0,1}^m, m = e + free, kept as two tables of about 2^(m/2) entries
// (Bagad, Dao, Domb, Thaler, 2025/1117):
//
//	w(x) = Outer[x >> InnerVars] · Inner[x mod 2^InnerVars]
//
// Inner is nil where it would be all ones. A sumcheck that binds the variables
// in order drops them one by one and never builds a table of 2^m entries.
type SplitEq struct {
	Outer, Inner []field.QM31
	InnerVars    int
	innerEq      int // eq variables inside Inner; they come before its free ones
}

// minUnweightedVars is the number of free variables from which rows of them
// are summed without weights, and weighted as a whole. Shorter rows would pay
// more for the calls than the products with repeated weights cost.
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

// DropFirst forgets variable 0 of the weight: the table of eq(r, ·) becomes
// that of eq(r[1:], ·), and a free variable just goes. Since
// eq(r_0, 0) + eq(r_0, 1) = 1, the halves of a table add up to the next one.
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

func foldHalves(t []field.QM31) []field.QM31 {
	h := len(t) / 2
	for i := range h {
		t[i] = t[i].Add(t[i+h])
	}
	return t[:h]
}

// Rows calls f for every piece of [lo, hi) that lies in one row, with the
// row's weight and the weights inside it (nil for ones), one for each entry
// of the piece:
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
