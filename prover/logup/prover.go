package logup

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/field"
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
	if leaves.vars == 0 {
		n, d := leaves.entry(0)
		w.SendQM31(n, d)
		return nil, n, d
	}
	t := newTree(leaves)
	return proveFrom(w, t, t.top())
}

// proveFrom sends f as the top layer of the tree and proves the layers below.
func proveFrom(w *transcript.Writer, t *tree, f fractions) (point []field.QM31, numEval, denEval field.QM31) {
	for k := 1; ; k++ {
		w.SendQM31(f.n0, f.n1, f.d0, f.d1)
		mu := w.Challenge()
		numEval, denEval = f.at(mu)
		point = append([]field.QM31{mu}, point...)
		if k == t.leaves.vars {
			return point, numEval, denEval
		}
		lambda := w.Challenge()
		point, f = proveLayer(w, t.layer(k, lambda), point, numEval.Add(lambda.Mul(denEval)))
	}
}
