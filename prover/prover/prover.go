// Package prover commits to models and proves their forward passes
// (docs/protocol.md, "Prover phases").
package prover

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Phase names a part of the prover's work, for progress and timing.
type Phase string

// The phases of Prove, in order.
const (
	PhaseCommit Phase = "commit witness"
	PhaseChunks Phase = "prove"
	PhaseOpen   Phase = "open"
)

// Options of Prove and Commit. The zero value proves on the CPU, in one process, without hiding anything.
type Options struct {
	// Backend makes the machine that does the work; nil stands for cpu.New.
	Backend func(*model.Graph, backend.Witness) backend.Backend
	// Pool, if set, has the machines that Prove uses instead of Backend.
	Pool *Pool
	// Progress, if set, is called as a phase advances, with the number of its units that are done and their total. Calls do not
	// overlap.
	Progress func(p Phase, done, total int)
	// Results, if set, stores the results of finished parts of a proof, and returns
	// them when the same proof is begun again.
	Results Results
	// Together, if set, shares the sub-transcripts with other processes.
	Together Together
	// Hiding, if set, asks Prove for a masked proof.
	Hiding *Hiding
	// Segment must be set for the proof of a segment of a text, and for no other proof.
	Segment *Segment
	// Base, if set, is the tree of the circuit's base, which Commit then does not make again. Commit does not check it: if it is the tree
	// of other weights, the key has its root, and no proof for that key can be made.
	Base *whir.Tree
}

// Segment says which segments of a text come before the one that is proved.
type Segment struct {
	proof.Segment
	// Past are the trees in the header of the segment before, that segment's own last. The first segment has none.
	Past []proof.FirstTree
}

// Trees are the trees of the fixed tensors, in the order of the key's roots (proof.Key.Trees). There is none if nothing is fixed.
type Trees []*whir.Tree

// roots returns the trees' roots.
func (t Trees) roots() []hash.Digest {
	var roots []hash.Digest
	for _, tree := range t {
		roots = append(roots, tree.Root())
	}
	return roots
}

// backend makes a backend as the options say.
func (o *Options) backend(g *model.Graph, w backend.Witness) backend.Backend {
	if o.Backend != nil {
		return o.Backend(g, w)
	}
	return cpu.New(g, w)
}

// Stats describe a finished proof.
type Stats struct {
	Phases   map[Phase]time.Duration
	Bytes    int64 // the size of the proof file
	Claims   int   // the number of claims on committed tensors that the opening proves
	Resumed  int   // how many trees and sub-transcripts were taken from Options.Results
	Strength soundness.Strength
	// Trees and Statement are set for a segment of a text: the trees in its header, and the digest of its statement. The next
	// segment's proof needs both.
	Trees     []proof.FirstTree
	Statement [sha256.Size]byte
}

// Commit commits to the fixed tensors of a circuit, whose entries are w. It returns the key and the trees
// that Prove opens.
func Commit(ctx context.Context, c *model.Template, w model.Weights, sec proof.Security, opts Options) (*proof.Key, Trees, error) {
	p, err := Plan(c, sec)
	if err != nil {
		return nil, nil, err
	}
	return CommitPlanned(ctx, c, p, w, sec, opts)
}

// Plan returns the plan that Commit uses: that of a proof in which all free dimensions
// have size 1.
func Plan(c *model.Template, sec proof.Security) (*plan.Plan, error) {
	g, err := c.At(c.Unit())
	if err != nil {
		return nil, err
	}
	return plan.New(g, sec.Config())
}

// CommitPlanned is Commit for a caller that has called Plan already.
func CommitPlanned(ctx context.Context, c *model.Template, p *plan.Plan, w model.Weights, sec proof.Security, opts Options) (*proof.Key, Trees, error) {
	return commit(ctx, c, p, nil, w, sec, &opts)
}

// commit is CommitPlanned with the secrets for tails and salts, or nil for a key that hides nothing.
func commit(ctx context.Context, c *model.Template, p *plan.Plan, secrets *backend.Secrets, w model.Weights, sec proof.Security, opts *Options) (*proof.Key, Trees, error) {
	trees, err := commitFixed(ctx, p, secrets, w, opts)
	if err != nil {
		return nil, nil, err
	}
	key, err := proof.NewKey(c, p, sec, trees.roots()...)
	return key, trees, err
}

// Roots commits to the weights w with the circuit and the parameters of a key, and returns the roots. Roots does not
// look at the key's roots: the caller compares the two to check that the key commits to w.
func Roots(ctx context.Context, key *proof.Key, w model.Weights, opts Options) ([]hash.Digest, error) {
	p, err := key.Plan(key.Circuit.Unit())
	if err != nil {
		return nil, err
	}
	if key.Hides() {
		return nil, errors.New("the key's root depends on a secret")
	}
	trees, err := commitFixed(ctx, p, nil, w, &opts)
	return trees.roots(), err
}

// commitFixed commits to the fixed tensors of a plan. secrets has the tails and salts of a tree that hides, otherwise it is nil.
func commitFixed(ctx context.Context, p *plan.Plan, secrets *backend.Secrets, w model.Weights, opts *Options) (Trees, error) {
	fixed := p.FixedTrees()
	if len(fixed) == 0 {
		return nil, ctx.Err()
	}
	b := opts.backend(p.Graph, fixedOnly{w})
	defer b.Close()
	var trees Trees
	for i := range fixed {
		if i == 0 && len(fixed) > 1 && opts.Base != nil {
			trees = append(trees, opts.Base)
			continue
		}
		c := fixed[i].Commitment
		c.Secrets, c.Keep = secrets, true
		tree, err := b.Commit(ctx, c)
		if err == nil {
			_, err = tree.Layers(ctx) // afterwards the tree does not need the backend, which is closed below
		}
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	return trees, ctx.Err()
}

// fixedOnly is the witness for committing to weights: it has fixed tensors only.
type fixedOnly struct{ model.Weights }

// Fixed implements backend.Witness.
func (f fixedOnly) Fixed(id model.TensorID) ints.Ints { return f.Weights[id] }

// Tensor implements backend.Witness.
func (fixedOnly) Tensor(model.TensorID) []int32 {
	panic("prover: a witness while committing to weights")
}

// StepKeys implements backend.Witness.
func (fixedOnly) StepKeys(int) []int32 { panic("prover: look-ups while committing to weights") }

// Prove writes to out a proof that the committed model maps the witness's inputs to its outputs. The instance in
// says of which sizes, and with what hidden or revealed, the circuit is; wit has the values of a run of that
// circuit; and fixed are the trees that Commit returned for the key. Prove stops and returns an error when the
// context ends, or when a device fails and its backend has no replacement. What was written to out by then is not
// a proof.
func Prove(ctx context.Context, key *proof.Key, in model.Instance, fixed Trees, wit backend.Witness, out io.Writer, opts Options) (*Stats, error) {
	p, err := planOf(key, in, &opts)
	if err != nil {
		return nil, err
	}
	if len(p.FixedTrees()) != len(fixed) {
		return nil, errors.New("the commitment to the weights does not belong to the key")
	}
	for i, tree := range fixed {
		if tree.Root() != key.Trees[i].Root {
			return nil, errors.New("the commitment to the weights is not the key's")
		}
	}
	if err := checkSegment(&in, &opts); err != nil {
		return nil, err
	}
	r := newRun(ctx, key, p, fixed, wit, opts)
	defer r.close()
	if err := r.prove(out); err != nil {
		if errors.As(err, new(reduce.ProverError)) {
			err = fmt.Errorf("the witness does not satisfy the model: %w", err)
		}
		return nil, err
	}
	r.stats.Strength = p.Strength()
	return r.stats, nil
}

// run is the state of one proof that is being made.
type run struct {
	ctx      context.Context
	key      *proof.Key
	plan     *plan.Plan
	wit      backend.Witness
	opts     Options
	pool     *Pool
	machines *machines
	backend  backend.Backend      // that of the machine Pool.First, which commits and opens
	tracked  func(*EstimateError) // called by track; set by tests only
	// role makes the prover's role in a sub-transcript: reduce.NewProver, except in tests.
	role   func(context.Context, *transcript.Writer, backend.Backend) *reduce.Role
	trees  []*whir.Tree // by tree of the plan, nil until it is committed to
	hiding *hidden      // nil unless the proof is masked
	claims []plan.Claim // of all sub-transcripts, in order
	stats  *Stats
	began  time.Time // when step was called last
}

// newRun returns a run whose fixed trees are given; all others are still to be committed to.
func newRun(ctx context.Context, key *proof.Key, p *plan.Plan, fixed Trees, wit backend.Witness, opts Options) *run {
	pool := opts.Pool
	if pool == nil {
		pool = poolOf(opts.backend)
	}
	m := newMachines(pool, p, wit)
	r := &run{
		ctx: ctx, key: key, plan: p, wit: wit, opts: opts, pool: pool, machines: m, backend: m.backends[pool.First], role: reduce.NewProver,
		trees: make([]*whir.Tree, len(p.Trees)), stats: &Stats{Phases: map[Phase]time.Duration{}},
	}
	copy(r.trees, fixed)
	return r
}

// close closes the backends of all machines and releases the memory that is pinned on them.
func (r *run) close() {
	r.machines.close()
	r.backend.Close()
}

// step reports that done of total units of a phase are finished, adds the time since the last call to the phase, and
// returns the context's error if it has ended.
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

// prove writes the proof to w, in the order of the transcript (docs/protocol.md, "Hash and transcript"): header, statement, root of the
// witness, sub-transcripts, opening.
func (r *run) prove(w io.Writer) error {
	g := r.plan.Graph
	inputs, outputs := r.public(g.Inputs), r.public(g.Outputs)
	given := inputs[:len(g.Given())]
	header, err := r.header()
	if err != nil {
		return err
	}
	out, err := proof.NewWriter(w, header, r.plan.Frames)
	if err != nil {
		return err
	}
	// Absorbing the statement and hashing the witness do not depend on each other.
	var main *transcript.Sponge
	var public, committed error
	if r.plan.Pads != nil { // masks are derived from the transcript behind the statement, so it is absorbed before anything is committed to
		main = header.Statement(given, outputs)
		if err := r.hide(main); err != nil {
			return err
		}
	}
	parallel.Do(func() { committed = r.commit() }, func() {
		if main == nil {
			main = header.Statement(given, outputs)
		}
		public = out.WritePublic(g, given, outputs)
	})
	if err := cmp.Or(public, committed); err != nil {
		return err
	}
	r.stats.Trees = header.Trees
	if header.Segment != nil {
		r.stats.Statement = out.Statement()
	}
	roots, err := r.sendRoots(main, out)
	if err != nil {
		return err
	}
	n := len(r.plan.Forks)
	if err := r.step(PhaseChunks, 0, n); err != nil {
		return err
	}
	values := reduce.Public{Inputs: inputs, Outputs: outputs}
	results, err := r.proveForks(main, roots, values)
	if err != nil {
		return err
	}
	if err := r.readBack(main, results, values); err != nil {
		return err
	}
	forks := make([]*transcript.Sponge, n)
	for i, f := range results {
		if err := out.Write(f.bytes); err != nil {
			return err
		}
		forks[i], r.claims = f.sponge, append(r.claims, f.claims...)
	}
	main.Join(forks...)
	if err := r.open(main, out); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	r.stats.Bytes, r.stats.Claims = out.Size(), len(r.claims)
	return nil
}

// public returns the entries of tensors in the witness: those that the statement has, or hidden ones that masks are derived from.
func (r *run) public(ids []model.TensorID) [][]int32 {
	values := make([][]int32, len(ids))
	for i, id := range ids {
		values[i] = ints.All(backend.Values(r.plan.Graph, r.wit, id))
	}
	return values
}

// commit commits to the trees whose roots the proof sends: that of the witness. Trees that the header names exist by then.
func (r *run) commit() error {
	if err := r.step(PhaseCommit, 0, 1); err != nil {
		return err
	}
	for i := range r.plan.Trees {
		if !r.plan.Trees[i].Sent() {
			continue
		}
		var err error
		if r.trees[i], err = r.commitTree(i); err != nil {
			return err
		}
	}
	return r.step(PhaseCommit, 1, 1)
}

// sendRoots sends the root of the witness's tree. It returns the bytes that it has sent, from which other processes get to the same
// state of the transcript (Together).
func (r *run) sendRoots(main *transcript.Sponge, out *proof.Writer) ([]byte, error) {
	w := transcript.NewWriter(main)
	for i := range r.plan.Trees {
		if r.plan.Trees[i].Sent() {
			w.SendDigest(r.trees[i].Root())
		}
	}
	return w.Bytes(), out.Write(w.Bytes())
}

// open proves all claims on committed tensors at once.
func (r *run) open(main *transcript.Sponge, out *proof.Writer) error {
	if err := r.step(PhaseOpen, 0, 1); err != nil {
		return err
	}
	w := transcript.NewWriter(main)
	if r.plan.Params != nil {
		if err := r.openClaims(w); err != nil {
			return err
		}
	}
	if err := r.step(PhaseOpen, 1, 1); err != nil {
		return err
	}
	return out.Write(w.Bytes())
}

// openClaims combines all claims and opens them. The challenges are drawn as the verifier draws them: tau is the point for the unused
// ends of the witness's rows, and the last challenge combines all claims (docs/protocol.md, "Openings").
func (r *run) openClaims(w *transcript.Writer) error {
	o := r.opening()
	var terms whir.Terms
	var value field.QM31
	if r.hiding != nil {
		terms, value = r.joinHidden(w)
	} else {
		tau := w.Challenges(r.plan.TailVars())
		terms, value = r.plan.Combine(r.claims, tau, w.Challenge())
	}
	if err := r.reserve(w.Sponge); err != nil {
		return err
	}
	passes, err := r.backend.Opening(r.ctx, o)
	if err != nil {
		return err
	}
	defer passes.Close()
	return whir.Open(r.ctx, w, o.Params, r.trees, passes, o.RowOffsets, terms, value)
}
