package logup

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/transcript"
)

// NumVars returns ⌈log2 n⌉, the number of variables of a tree over n fractions.
func NumVars(n int) int {
	if n <= 1 {
		return 0
	}
	return bits.Len(uint(n - 1))
}

// Prove proves Σ num[i]/den[i] = 0 and returns the point of NumVars(len(num))
// coordinates it comes down to, with the evaluations num~(point) and
// den~(point) of the tables extended by the fraction 0/1 up to a power of two.
// num and den must have one length and be bound by the transcript already.
// den is overwritten.
//
// It takes 32 bytes a fraction on top of its arguments. Fractions that do not
// add up to zero, or a zero denominator, give a proof that Verify rejects.
func Prove(w *transcript.Writer, num []field.M31, den []field.QM31) (point []field.QM31, numEval, denEval field.QM31) {
	if len(num) != len(den) {
		panic(fmt.Sprintf("logup: %d numerators and %d denominators", len(num), len(den)))
	}
	leaves := leaves{num: num, den: den, vars: NumVars(len(num))}
	return ProveTree(w, leaves.vars, newTree(leaves))
}

// A Tree is the tree of sums over some leaves, wherever it is. It does the
// work on data; ProveTree does the rest.
type Tree interface {
	// Top returns layer 1. Of a single leaf it returns the leaf as N0/D0.
	Top() Fractions
	// Begin starts the sumcheck over layer k's variables, 1 ≤ k < vars, of
	//
	//	Σ_x eq(eq,x)·( n0(x)·d1(x) + n1(x)·d0(x) + lambda·d0(x)·d1(x) )
	//
	// on the halves of layer k+1. Layers come in ascending order and may be
	// consumed.
	Begin(k int, eq []field.QM31, lambda field.QM31)
	// Round binds the variable of the layer's round before, if any, to r and
	// returns the value at 0 and the leading coefficient of the quadratic
	// q(X) that the sum is with the round's variable set to X, its factor of
	// eq and those of earlier variables left out.
	Round(round int, r field.QM31) (zero, top field.QM31)
	// End binds the layer's last variable to r and returns what is left.
	End(r field.QM31) Fractions
}

// ProveTree is Prove over a tree of 2^vars leaves that may be on another
// machine.
func ProveTree(w *transcript.Writer, vars int, t Tree) (point []field.QM31, numEval, denEval field.QM31) {
	f := t.Top()
	if vars == 0 {
		w.SendQM31(f.N0, f.D0)
		return nil, f.N0, f.D0
	}
	return proveFrom(w, vars, t, f)
}

// proveFrom sends f as the top layer of the tree and proves the layers below.
func proveFrom(w *transcript.Writer, vars int, t Tree, f Fractions) (point []field.QM31, numEval, denEval field.QM31) {
	for k := 1; ; k++ {
		w.SendQM31(f.N0, f.N1, f.D0, f.D1)
		mu := w.Challenge()
		numEval, denEval = f.at(mu)
		point = append([]field.QM31{mu}, point...)
		if k == vars {
			return point, numEval, denEval
		}
		lambda := w.Challenge()
		t.Begin(k, point, lambda)
		point, f = proveLayer(w, t, point, numEval.Add(lambda.Mul(denEval)))
	}
}

// proveLayer runs the sumcheck for the claim at the point eq and returns its
// point and the values of the layer below there.
func proveLayer(w *transcript.Writer, t Tree, eq []field.QM31, claim field.QM31) ([]field.QM31, Fractions) {
	// q(1) needs 1/eq[j]. The coordinates are challenges; should one be zero
	// (probability 1/|K|) the proof is merely rejected.
	inv := append([]field.QM31(nil), eq...)
	field.BatchInvert(inv)
	point := make([]field.QM31, len(eq))
	var last field.QM31
	for j := range point {
		zero, top := t.Round(j, last)
		q1 := claim.Sub(zero).Mul(inv[j]).Sub(top)
		w.SendQM31(q1, top)
		q := poly.Quadratic{zero, q1, top}
		last = w.Challenge()
		point[j] = last
		claim = q.At(last)
	}
	return point, t.End(last)
}
