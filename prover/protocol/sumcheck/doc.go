// Package sumcheck proves many sums of products at once: claims
//
//	claim = Σ_{x∈{0,1}^n} eq(e, x_0 … x_{|e|−1}) · A(x) · B(x)
//
// of different sizes, reduced together to one evaluation of each A and each B
// (docs/protocol.md, "Batched sumcheck"; Thaler, Proofs, Arguments, and Zero-Knowledge,
// §4.1).
//
// A claim with its tables A and B is called an instance. The instances are combined
// with powers of one challenge γ. There are as many rounds as the largest instance has
// variables. An instance of n variables takes part in the last n of them, and its point is
// made of their challenges. Its claim, times its power of γ, is added to the running claim
// when the first of these n rounds begins.
//
// What forces the values, round by round. Let Δ_i be the error of claim i,
// E_k the error of the running claim after k rounds, and
//
//		Φ_k = E_k + Σ_{i joins at round j_i ≥ k, not yet joined} 2^(j_i−k) · γ^i · Δ_i .
//
//	  - Φ_0 is Σ_i 2^(j_i)·γ^i·Δ_i: a non-zero polynomial in γ if any claim is
//	    wrong, so it is zero for at most N−1 of the |K| values of γ, for N claims.
//	  - In round k the prover sends the coefficients of some H with
//	    H(0) + H(1) = the running claim (the coefficient that it does not send is
//	    derived from that). Take the difference of H and the true round polynomial
//	    and add half of the sum in Φ_k over instances that have not joined. The values
//	    of the result at 0 and 1 add up to Φ_k, and its value at the challenge is
//	    Φ_(k+1). So for Φ_k ≠ 0 it is a non-zero polynomial of degree at most 3, and
//	    Φ_(k+1) = 0 for at most three challenges. A prover can thus not use instances
//	    that have not joined to cancel an error.
//	  - At the end every A*, B* is sent, and the running claim must equal
//	    Σ_i γ^i·eq·A*·B*. With Φ ≠ 0 some A* or B* is not the evaluation it
//	    claims to be; the caller checks them all.
//
// The error is at most (N−1)/|K| for γ and 3/|K| a round.
//
// The prover never multiplies eq into the tables: the round polynomial of an
// instance is (a constant) · (eq's factor, linear) · q with q of degree two
// (Gruen, 2024/108), q(0) and q's leading coefficient come from one pass that
// also binds the previous variable, and q(1) from the instance's own claim.
package sumcheck
