package reduce

import (
	"context"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/colsum"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// Party is one side of the protocol: a prover with a writer and a backend, or
// a verifier with a reader.
type Party struct {
	ctx context.Context // of the one fork that a proving side is for
	w   *transcript.Writer
	b   backend.Backend
	err error // of the proving side, the first one
	r   *transcript.Reader
	// unchecked makes the prover go on with claims that do not hold.
	unchecked bool
}

// NewProver returns the proving side. It stops, with an error, when the context
// ends, when the backend fails, or when a claim of its own does not hold.
func NewProver(ctx context.Context, w *transcript.Writer, b backend.Backend) *Party {
	return &Party{ctx: ctx, w: w, b: b}
}

// NewUncheckedProver returns a proving side that does not look at its own
// claims. It is for tests that the verifier does.
func NewUncheckedProver(ctx context.Context, w *transcript.Writer, b backend.Backend) *Party {
	return &Party{ctx: ctx, w: w, b: b, unchecked: true}
}

// NewVerifier returns the verifying side.
func NewVerifier(r *transcript.Reader) *Party { return &Party{r: r} }

func (p *Party) proving() bool { return p.w != nil }

// Err returns the first error, of either side. What was written or read by then
// means nothing.
func (p *Party) Err() error {
	if p.proving() {
		return p.err
	}
	return p.r.Err()
}

// failed says whether there has been an error, so that work can stop. After one,
// values are zero and tables nil.
func (p *Party) failed() bool { return p.Err() != nil }

// fail records an error, the first one, of either side.
func (p *Party) fail(err error) {
	if !p.proving() {
		p.r.Fail(err)
	} else if p.err == nil {
		p.err = err
	}
}

// on makes a call of the proving side's backend, unless it has failed before.
func on[T any](p *Party, f func() (T, error)) (v T) {
	if p.failed() {
		return v
	}
	got, err := f()
	if err != nil {
		p.fail(err)
		return v
	}
	return got
}

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

// count sends an element of F, the value of f, or receives it.
func (p *Party) count(f func() field.M31) field.QM31 {
	if p.proving() {
		v := f()
		p.w.SendM31(v)
		return field.FromM31(v)
	}
	return field.FromM31(p.r.M31s(1)[0])
}

// grind proves or checks bits of work before the next challenge.
func (p *Party) grind(bits int) {
	if p.proving() {
		p.w.Grind(bits)
	} else {
		p.r.CheckGrind(bits)
	}
}

// check records a failed equation. For a prover it is a bug or a faulty
// machine: the proof would not verify.
func (p *Party) check(ok bool, format string, args ...any) {
	if ok || p.unchecked {
		return
	}
	err := fmt.Errorf(format, args...)
	if p.proving() {
		err = ProverError{err}
	}
	p.fail(err)
}

// ProverError is the error of the proving side that a claim of its own does not
// hold.
type ProverError struct{ Err error }

func (e ProverError) Error() string { return "claim does not hold: " + e.Err.Error() }

// evaluate returns values of tensors. It is for the proving side, as are the next four.
func (p *Party) evaluate(list []backend.Evaluation) []field.QM31 {
	return on(p, func() ([]field.QM31, error) { return p.b.Eval(p.ctx, list) })
}

func (p *Party) restrict(r backend.Restriction) backend.Table {
	return on(p, func() (backend.Table, error) { return p.b.Restrict(p.ctx, r) })
}

func (p *Party) copy(t backend.Table) backend.Table {
	return on(p, func() (backend.Table, error) { return p.b.Copy(p.ctx, t) })
}

func (p *Party) upload(values []field.QM31) backend.Table {
	return on(p, func() (backend.Table, error) { return p.b.Upload(p.ctx, values) })
}

func (p *Party) inner(list []backend.Instance) []field.QM31 {
	return on(p, func() ([]field.QM31, error) { return p.b.Inner(p.ctx, list) })
}

// logup proves or verifies a fractional sum of 2^numVars leaves.
func (p *Party) logup(l backend.Leaves, numVars int) logup.End {
	if !p.proving() {
		return logup.Verify(p.r, numVars)
	}
	return on(p, func() (logup.End, error) {
		t, err := p.b.Fractions(p.ctx, l)
		if err != nil {
			return logup.End{}, err
		}
		defer t.Close()
		return logup.Prove(p.ctx, p.w, numVars, t)
	})
}

// join proves or verifies the sum over the steps of a look-up tree that are cut, for
// a tree that ends at z.
func (p *Party) join(g *model.Graph, l *backend.Leaves, z []field.QM31, vars int, claim field.QM31) colsum.End {
	if !p.proving() {
		return colsum.Verify(p.r, vars, claim)
	}
	return on(p, func() (colsum.End, error) { return colsum.Prove(p.ctx, p.w, g, l, z, claim, p.b) })
}

// sumcheck proves the sums of the shapes, of which the instances are the prover's
// tables, or verifies them.
func (p *Party) sumcheck(instances []backend.Instance, shapes []sumcheck.Shape) []sumcheck.Final {
	if !p.proving() {
		return sumcheck.Verify(p.r, shapes)
	}
	return on(p, func() ([]sumcheck.Final, error) {
		t, err := p.b.Sums(p.ctx, instances)
		if err != nil {
			return nil, err
		}
		defer t.Close()
		return sumcheck.Prove(p.ctx, p.w, shapes, t)
	})
}
