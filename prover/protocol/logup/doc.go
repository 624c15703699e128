// Package logup proves that fractions add up to zero,
//
//	Σ_i num[i] / den[i] = 0 ,   no den[i] = 0,
//
// and reduces that to one evaluation of num and one of den: the fractional-sum
// GKR of Papini and Haböck (2023/1284, §3). With num the multiplicities and
// den = α − (compressed row) it is the look-up argument of docs/protocol.md.
//
// The fractions are added in a binary tree, without cancelling, entry i of a
// layer with entry i + half, so that variable 0 of a layer tells the two
// summands apart:
//
//	n_k(x) = n_(k+1)(0,x)·d_(k+1)(1,x) + n_(k+1)(1,x)·d_(k+1)(0,x)
//	d_k(x) = d_(k+1)(0,x)·d_(k+1)(1,x)
//
// Layer 0 is the sum, layer numVars the leaves.
//
// What forces the values:
//
//   - The prover sends layer 1; the verifier checks that its fractions add up
//     to 0/d with d ≠ 0. Over a field with no zero divisors d = Π den[i], so no
//     denominator is zero and the sum is meaningful.
//   - Claims n_k~(r) and d_k~(r) are combined with a challenge λ (a wrong pair
//     survives with probability 1/|K|) into one sumcheck over
//     eq(r,x)·(n0·d1 + n1·d0 + λ·d0·d1), where n0 = n_(k+1)(0,x) and so on.
//   - The round polynomial of this sumcheck, divided by the eq factors of the
//     variables bound so far, is eq(r_j, X)·q(X) with q of degree two. A round
//     sends the coefficients q_1 and q_2. The claim S = (1−r_j)·q(0) + r_j·q(1)
//     gives the third, q(0) = S − r_j·(q_1+q_2). So a wrong claim means a wrong
//     q, which survives a challenge with probability 2/|K|. (Gruen, 2024/108, has the
//     prover's side of this. Dividing eq out of what is sent as well saves a
//     third of the proof and a degree.)
//   - The four values sent at the end are tied to the last claim by the equation
//     above and merged into claims on layer k+1 by a challenge μ for variable 0:
//     1/|K|.
//
// Over all layers the error is at most Σ_{k<L} (2k + 2)/|K| = L(L+1)/|K|,
// L = numVars, on top of the error of the look-up argument itself (the
// fractions' poles: entries/|K|, 2023/1284 Lemma 3), which is the caller's.
package logup
