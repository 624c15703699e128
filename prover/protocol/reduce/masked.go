package reduce

import (
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/pads"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Read runs the verifier's side of masked sub-transcript number fork. It sets claims, and returns what the joined claim needs
// of the sub-transcript (pads.Stack.Join). If something does not hold, either the reader has an error, or the equation that
// says so is on the tape, and the joined claim is false.
func Read(claims []plan.Claim, pl *plan.Plan, fork int, r *transcript.Reader, public Public) pads.Read {
	tape := pl.Pads.NewTape(fork)
	r.Mask(tape)
	claims = RunInto(claims, pl, pl.Forks[fork], NewVerifier(r), public)
	r.Unmask()
	return pads.Read{Tape: tape, Claims: len(claims), Claim: func(i int) transcript.Form { return claims[i].Value }}
}
