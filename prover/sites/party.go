package sites

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/logup"
	"github.com/prove-model/prove-model/prover/sumcheck"
	"github.com/prove-model/prove-model/prover/transcript"
)

// Party is one side of the protocol: a prover with a writer and a backend, or
// a verifier with a reader.
type Party struct {
	w *transcript.Writer
	b backend.Backend
	r *transcript.Reader
	// unchecked makes the prover go on with claims that do not hold.
	unchecked bool
}

// NewProver returns the proving side.
func NewProver(w *transcript.Writer, b backend.Backend) *Party { return &Party{w: w, b: b} }

// NewUncheckedProver returns a proving side that does not look at its own
// claims. It is for tests that the verifier does.
func NewUncheckedProver(w *transcript.Writer, b backend.Backend) *Party {
	return &Party{w: w, b: b, unchecked: true}
}

// NewVerifier returns the verifying side.
func NewVerifier(r *transcript.Reader) *Party { return &Party{r: r} }

func (p *Party) proving() bool { return p.w != nil }

func (p *Party) sponge() *transcript.Sponge {
	if p.proving() {
		return p.w.Sponge
	}
	return p.r.Sponge
}

// value sends the value of f, or receives it.
func (p *Party) value(f func() field.QM31) field.QM31 {
	if p.proving() {
		v := f()
		p.w.SendQM31(v)
		return v
	}
	return p.r.QM31()
}

// grind proves or checks bits of work before the next challenge.
func (p *Party) grind(bits int) {
	if p.proving() {
		p.w.Grind(bits)
	} else {
		p.r.CheckGrind(bits)
	}
}

// failed reports whether verification has already failed, so that loops whose
// work depends on received values can stop.
func (p *Party) failed() bool { return !p.proving() && p.r.Err() != nil }

// check records a failed equation. For a prover it is a bug or a faulty
// machine: the proof would not verify.
func (p *Party) check(ok bool, format string, args ...any) {
	if ok || p.unchecked {
		return
	}
	err := fmt.Errorf(format, args...)
	if p.proving() {
		panic(ProverError{err})
	}
	p.r.Fail(err)
}

// ProverError is the panic value with which the proving side reports that a
// claim of its own does not hold. Package prover turns it into an error.
type ProverError struct{ Err error }

func (e ProverError) Error() string { return "claim does not hold: " + e.Err.Error() }

func (p *Party) logup(l backend.Leaves, numVars int) (point []field.QM31, num, den field.QM31) {
	if p.proving() {
		return p.b.LogUp(p.w, l)
	}
	return logup.Verify(p.r, numVars)
}

// sumcheck proves the sums of the instances, or checks those of the shapes.
func (p *Party) sumcheck(instances []backend.Instance, shapes []sumcheck.Shape) []sumcheck.Final {
	if p.proving() {
		return p.b.Sumcheck(p.w, instances)
	}
	return sumcheck.Verify(p.r, shapes)
}
