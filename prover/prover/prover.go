// Package prover commits to models and proves their forward passes
// (docs/protocol.md, "Prover phases").
package prover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/plan"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/sites"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
	"github.com/prove-model/prove-model/prover/whir"
)

// Phase names a part of the prover's work, for progress and timing.
type Phase string

// The phases of Prove, in order.
const (
	PhaseCommit Phase = "commit witness"
	PhaseChunks Phase = "prove"
	PhaseOpen   Phase = "open"
)

// Options of Prove. The zero value is good.
type Options struct {
	// Backend, if set, makes the machine that does the work; cpu.New otherwise.
	Backend func(*model.Graph, backend.Witness) backend.Backend
	// Progress, if set, is called as phases advance: done of total units.
	Progress func(p Phase, done, total int)
}

func (o *Options) backend(g *model.Graph, w backend.Witness) backend.Backend {
	if o.Backend != nil {
		return o.Backend(g, w)
	}
	return cpu.New(g, w)
}

// Stats describe a finished proof.
type Stats struct {
	Phases   map[Phase]time.Duration
	Bytes    int64
	Claims   int     // on committed tensors
	Security float64 // proven bits of the weakest round
}

// Commit commits to the fixed tensors of a circuit and returns the key, encoded
// too, and the tree that Prove opens, nil if nothing is fixed.
func Commit(ctx context.Context, c *model.Template, w model.Weights, sec proof.Security, opts Options) (*proof.Key, *whir.Tree, error) {
	g, err := c.At(c.Unit())
	if err != nil {
		return nil, nil, err
	}
	p, err := plan.New(g, sec.Config())
	if err != nil {
		return nil, nil, err
	}
	key := &proof.Key{Circuit: c, Security: sec}
	var tree *whir.Tree
	if fixed := p.Fixed(); fixed != nil {
		b := opts.backend(g, fixedOnly{w})
		defer b.Close()
		if err := backend.Catch(func() {
			tree = b.Commit(p.Stack(fixed))
			tree.Layers() // which makes it outlive the backend
		}); err != nil {
			return nil, nil, err
		}
		key.Root, key.HasFixed, key.RowVars = tree.Root(), true, p.Params.RowVars()
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if _, err := proof.EncodeKey(key); err != nil {
		return nil, nil, err
	}
	return key, tree, nil
}

// fixedOnly is a witness of which only the fixed tensors are asked for.
type fixedOnly struct{ model.Weights }

// Tensor implements backend.Witness.
func (f fixedOnly) Tensor(id model.TensorID) []int32 { return f.Weights[id] }

// StepKeys implements backend.Witness.
func (fixedOnly) StepKeys(int) []int32 { panic("prover: look-ups while committing to weights") }

// Prove writes a proof that the committed model maps the witness's inputs to
// its outputs. g is the instance of the key's circuit that the witness is of, and
// fixed the tree that Commit returned for the key. When the
// context ends, or a device fails and its backend does not make up for it,
// Prove stops and returns the error; what was written to out by then is no
// proof.
func Prove(ctx context.Context, key *proof.Key, g *model.Graph, fixed *whir.Tree, wit backend.Witness, out io.Writer, opts Options) (stats *Stats, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case sites.ProverError:
			stats, err = nil, fmt.Errorf("the witness does not satisfy the model: %w", p)
		case backend.Failure:
			stats, err = nil, p
		default:
			panic(p)
		}
	}()
	p, err := plan.ForKey(key, g)
	if err != nil {
		return nil, err
	}
	if (p.Fixed() != nil) != (fixed != nil) {
		return nil, errors.New("the commitment to the weights does not belong to the key")
	}
	if fixed != nil && fixed.Root() != key.Root {
		return nil, errors.New("the commitment to the weights is not the key's")
	}
	r := newRun(ctx, key, p, fixed, wit, opts)
	defer r.backend.Close()
	if err := r.prove(out); err != nil {
		return nil, err
	}
	r.stats.Security = soundness.MinBits(p.Rounds()).Float()
	return r.stats, nil
}

type run struct {
	ctx     context.Context
	key     *proof.Key
	plan    *plan.Plan
	wit     backend.Witness
	opts    Options
	backend backend.Backend
	party   func(*transcript.Writer, backend.Backend) *sites.Party
	trees   []*whir.Tree // by tree of the plan
	claims  []sites.Claim
	stats   *Stats
	began   time.Time
}

func newRun(ctx context.Context, key *proof.Key, p *plan.Plan, fixed *whir.Tree, wit backend.Witness, opts Options) *run {
	r := &run{
		ctx: ctx, key: key, plan: p, wit: wit, opts: opts, backend: opts.backend(p.Graph, wit), party: sites.NewProver,
		trees: make([]*whir.Tree, len(p.Trees)), stats: &Stats{Phases: map[Phase]time.Duration{}},
	}
	for i := range p.Trees {
		if p.Trees[i].Chunk < 0 {
			r.trees[i] = fixed
		}
	}
	return r
}

// step reports progress, keeps time, and says whether to go on.
func (r *run) step(ph Phase, done, total int) error {
	now := time.Now()
	if done > 0 {
		r.stats.Phases[ph] += now.Sub(r.began)
	}
	r.began = now
	if r.opts.Progress != nil {
		r.opts.Progress(ph, done, total)
	}
	return r.ctx.Err()
}

func (r *run) prove(w io.Writer) error {
	g := r.plan.Graph
	inputs, outputs := r.public(g.Inputs), r.public(g.Outputs)
	header := r.plan.Header(r.key)
	out, err := proof.NewWriter(w, header)
	if err != nil {
		return err
	}
	if err := out.WritePublic(inputs, outputs); err != nil {
		return err
	}
	main := plan.Statement(header, inputs, outputs)
	if err := r.commit(main, out); err != nil {
		return err
	}
	if err := r.step(PhaseChunks, 0, g.Chunks+1); err != nil {
		return err
	}
	forks := make([]*transcript.Sponge, 0, g.Chunks+1)
	for chunk := range g.Chunks {
		fork, err := r.session(main, out, proof.Chunk, chunk, func(s *sites.Session) {
			s.Chunk(chunk, r.plan.LookupGrind)
		})
		if err != nil {
			return err
		}
		forks = append(forks, fork)
		if err := r.step(PhaseChunks, chunk+1, g.Chunks+1); err != nil {
			return err
		}
	}
	fork, err := r.session(main, out, proof.IO, 0, func(s *sites.Session) {
		s.Outputs(func(i int) []int32 { return outputs[i] })
	})
	if err != nil {
		return err
	}
	main.Join(append(forks, fork)...)
	if err := r.step(PhaseChunks, g.Chunks+1, g.Chunks+1); err != nil {
		return err
	}
	if err := r.open(main, out); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	r.stats.Bytes, r.stats.Claims = out.Size(), len(r.claims)
	return nil
}

func (r *run) public(ids []model.TensorID) [][]int32 {
	values := make([][]int32, len(ids))
	for i, id := range ids {
		values[i] = r.wit.Tensor(id)
	}
	return values
}

// commit commits to the witness of every chunk and sends the roots.
func (r *run) commit(main *transcript.Sponge, out *proof.Writer) error {
	w := transcript.NewWriter(main)
	for i := range r.plan.Trees {
		if err := r.step(PhaseCommit, i, len(r.plan.Trees)); err != nil {
			return err
		}
		t := &r.plan.Trees[i]
		if t.Chunk < 0 {
			continue
		}
		r.trees[i] = r.backend.Commit(r.plan.Stack(t))
		w.SendDigest(r.trees[i].Root())
	}
	if err := r.step(PhaseCommit, len(r.plan.Trees), len(r.plan.Trees)); err != nil {
		return err
	}
	return out.WriteFrame(proof.Commitments, 0, w.Bytes())
}

// session proves one fork of the transcript and collects its claims.
func (r *run) session(main *transcript.Sponge, out *proof.Writer, kind proof.FrameKind, index int, f func(*sites.Session)) (*transcript.Sponge, error) {
	fork := uint64(index)
	if kind == proof.IO {
		fork = uint64(r.plan.Graph.Chunks)
	}
	w := transcript.NewWriter(main.Fork(fork))
	s := sites.NewSession(r.plan.Graph, r.party(w, r.backend), nil)
	f(s)
	r.claims = append(r.claims, s.Claims()...)
	return w.Sponge, out.WriteFrame(kind, index, w.Bytes())
}

// open proves all claims on committed tensors at once.
func (r *run) open(main *transcript.Sponge, out *proof.Writer) error {
	if err := r.step(PhaseOpen, 0, 1); err != nil {
		return err
	}
	w := transcript.NewWriter(main)
	if r.plan.Params != nil {
		o := backend.Opening{Params: r.plan.Params, Trees: r.trees, RowOffsets: r.plan.RowOffsets()}
		for i := range r.plan.Trees {
			o.Stacks = append(o.Stacks, r.plan.Stack(&r.plan.Trees[i]))
		}
		o.Terms, o.Value = r.plan.Combine(r.claims, main.Challenge())
		r.backend.Open(w, o)
	}
	if err := r.step(PhaseOpen, 1, 1); err != nil {
		return err
	}
	return out.WriteFrame(proof.Opening, 0, w.Bytes())
}
