package reduce

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/colsum"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// Role is one side of the protocol: a prover with a writer and a backend, or a
// verifier with a reader.
type Role struct {
	ctx context.Context    // of the one sub-transcript that a prover's Role is for
	w   *transcript.Writer // of a prover, nil for a verifier
	b   backend.Backend    // of a prover
	err error              // of a prover: the first error
	r   *transcript.Reader // of a verifier, which keeps its own first error
	// unchecked makes the prover continue with claims that do not hold.
	unchecked bool
	// dry makes the prover leave out what it computes outside of the backend (NewDryProver).
	dry bool
}

// NewProver returns a prover's Role. It stops with an error when the context ends,
// when the backend fails, or when one of its own claims does not hold.
func NewProver(ctx context.Context, w *transcript.Writer, b backend.Backend) *Role {
	return &Role{ctx: ctx, w: w, b: b}
}

// NewUncheckedProver returns a prover's Role that does not check its own claims. It is
// for tests of the verifier.
func NewUncheckedProver(ctx context.Context, w *transcript.Writer, b backend.Backend) *Role {
	return &Role{ctx: ctx, w: w, b: b, unchecked: true}
}

// NewDryProver returns a prover's Role for a backend that only counts its memory. It calls the backend as a prover
// does. What it writes is no proof: values are zero, there is no proof of work, and what the processor alone would
// compute, such as the weights of views, is left out.
func NewDryProver(ctx context.Context, w *transcript.Writer, b backend.Backend) *Role {
	return &Role{ctx: ctx, w: w, b: b, unchecked: true, dry: true}
}

// NewVerifier returns a verifier's Role.
func NewVerifier(r *transcript.Reader) *Role { return &Role{r: r} }

// proving says whether this is a prover's Role.
func (p *Role) proving() bool { return p.w != nil }

// Err returns the first error. After an error, what was written or read is meaningless.
func (p *Role) Err() error {
	if p.proving() {
		return p.err
	}
	return p.r.Err()
}

// failed reports whether there has been an error, so that work can stop. After an error
// values are zero and tables nil.
func (p *Role) failed() bool { return p.Err() != nil }

// fail records an error, unless there was one before.
func (p *Role) fail(err error) {
	if !p.proving() {
		p.r.Fail(err)
	} else if p.err == nil {
		p.err = err
	}
}

// on calls f, which uses the prover's backend, and records its error. If there was an error
// before, it does not call f.
func on[T any](p *Role, f func() (T, error)) (v T) {
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

func (p *Role) sponge() *transcript.Sponge {
	if p.proving() {
		return p.w.Sponge
	}
	return p.r.Sponge
}

// value sends a value, or receives it. f computes it for a prover.
func (p *Role) value(f func() field.QM31) transcript.Form {
	if p.proving() {
		v := f()
		p.w.SendQM31(v)
		return transcript.Known(v)
	}
	return p.r.Form()
}

// count sends an element of F, or receives it. f computes it for a prover. In a masked transcript it is sent as an element of
// K, as all others are, so that a pad hides it.
func (p *Role) count(f func() field.M31) transcript.Form {
	switch {
	case p.masked():
		return p.value(func() field.QM31 { return field.FromM31(f()) })
	case p.proving():
		v := f()
		p.w.SendM31(v)
		return transcript.Known(field.FromM31(v))
	}
	return transcript.Known(field.FromM31(p.r.M31s(1)[0]))
}

// masked says whether elements are sent less pads.
func (p *Role) masked() bool {
	if p.proving() {
		return p.w.Masked()
	}
	return p.r.Masked()
}

// zero checks that v is zero. If it is not, it records an error with the text that `what` returns. A verifier of a masked
// transcript cannot tell: it notes the equation v = 0 on its tape.
func (p *Role) zero(v transcript.Form, what func() string) {
	if p.masked() && !p.proving() {
		p.r.Zero(v, nil)
		return
	}
	p.check(v.Plain().IsZero(), what)
}

// grind proves or checks bits of work before the next challenge.
func (p *Role) grind(bits int) {
	switch {
	case p.dry:
	case p.proving():
		p.w.Grind(bits)
	default:
		p.r.CheckGrind(bits)
	}
}

// check records an error with the text that `what` returns, unless ok is true. For a prover this
// means a bug or a faulty machine: the proof would not verify.
func (p *Role) check(ok bool, what func() string) {
	if ok || p.unchecked {
		return
	}
	err := errors.New(what())
	if p.proving() {
		err = ProverError{err}
	}
	p.fail(err)
}

// ProverError says that one of the prover's own claims does not hold.
type ProverError struct{ Err error }

func (e ProverError) Error() string { return "claim does not hold: " + e.Err.Error() }

// evaluate returns values of tensors at points (Backend.Eval). Only a prover calls this method
// and the next four, which call the backend's methods of the same names.
func (p *Role) evaluate(list []backend.Evaluation) []field.QM31 {
	return on(p, func() ([]field.QM31, error) { return p.b.Eval(p.ctx, list) })
}

// restrict returns the tables of restrictions; nil ones after an error.
func (p *Role) restrict(list []backend.Restriction) []backend.Table {
	if len(list) == 0 {
		return nil
	}
	if tables := on(p, func() ([]backend.Table, error) { return p.b.Restrict(p.ctx, list) }); tables != nil {
		return tables
	}
	return make([]backend.Table, len(list))
}

func (p *Role) copy(t backend.Table) backend.Table {
	return on(p, func() (backend.Table, error) { return p.b.Copy(p.ctx, t) })
}

func (p *Role) upload(values []field.QM31) backend.Table {
	return on(p, func() (backend.Table, error) { return p.b.Upload(p.ctx, values) })
}

func (p *Role) inner(list []backend.Instance) []field.QM31 {
	return on(p, func() ([]field.QM31, error) { return p.b.Inner(p.ctx, list) })
}

// logup proves or verifies a fractional sum of 2^numVars leaves.
func (p *Role) logup(l backend.Leaves, numVars int) logup.End {
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

// join proves or verifies the sum, of vars rounds, over those steps of a look-up tree that are
// cut into several blocks (package colsum). The tree ends at z.
func (p *Role) join(g *model.Graph, l *backend.Leaves, z []field.QM31, vars int, claim transcript.Form) colsum.End {
	if !p.proving() {
		return colsum.Verify(p.r, vars, claim)
	}
	if p.dry {
		return on(p, func() (colsum.End, error) { return colsum.Dry(p.ctx, p.w, g, l, z, p.b) })
	}
	return on(p, func() (colsum.End, error) { return colsum.Prove(p.ctx, p.w, g, l, z, claim.Plain(), p.b) })
}

// sumcheck proves or verifies a batch of sums with the given shapes. instances are the
// tables of these sums, which only a prover has.
func (p *Role) sumcheck(instances []backend.Instance, shapes []sumcheck.Shape) []sumcheck.Final {
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
