package reduce

import (
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/pads"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Read runs the verifier's side of a masked sub-transcript, of the given number. It sets the claims, and returns what the
// joined claim takes of it. If something does not hold, the reader may have the error or not: then the joined claim is false.
func Read(claims []plan.Claim, pl *plan.Plan, fork int, r *transcript.Reader, public Public) pads.Read {
	tape := pl.Pads.NewTape(fork)
	r.Mask(tape)
	claims = RunInto(claims, pl, pl.Forks[fork], NewVerifier(r), public)
	r.Unmask()
	return pads.Read{Tape: tape, Claims: len(claims), Claim: func(i int) transcript.Form { return claims[i].Value }}
}
