package prover

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/pads"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// All messages of a proof together say nothing of its secrets: not the opening alone, for which package whir computes ranks, but
// sub-transcripts, the proof of products and the opening as one view, as the prover's own code makes them.
//
// All challenges are fixed. Elements of sub-transcripts are uniform by their pads, so they are fixed too, at random: for any
// secrets there is one choice of the pads with which they are what is sent. Likewise rounds of the proof of products, and by the
// dummies its ends, but for the little that TestDummies counts. Of the view, given these, the opening is left. It is an affine
// function of masks, tails and the auxiliary row, the same one for all secrets but for a constant: so two sets of secrets give
// the same distribution exactly if the difference of their constants is in the span of what the random values change.
//
// Secrets are weights and inputs of which the proof states the same.

// fixedTranscript gives challenges that do not depend on what it absorbs, and keeps that.
type fixedTranscript struct {
	hash.Transcript
	seed, drawn uint64
	sent        []field.M31
}

func (f *fixedTranscript) AbsorbElements(v []field.M31) { f.sent = append(f.sent, v...) }
func (f *fixedTranscript) AbsorbDigests([]hash.Digest)  {}
func (f *fixedTranscript) AbsorbUint64(uint64)          {}
func (f *fixedTranscript) AbsorbBytes([]byte)           {}
func (f *fixedTranscript) Join([]hash.Transcript)       {}
func (f *fixedTranscript) Fork(i uint64) hash.Transcript {
	return &fixedTranscript{seed: f.seed + 1 + i}
}

func (f *fixedTranscript) Work(bits int) hash.Work {
	return hash.Blake3.NewTranscript("any").Work(bits)
}
func (f *fixedTranscript) EndWork(nonce field.M31, bits int) bool { return true }
func (f *fixedTranscript) Clone() hash.Transcript                 { c := *f; return &c }

func (f *fixedTranscript) rng() *rand.Rand {
	f.drawn++
	return rand.New(rand.NewPCG(f.seed, f.drawn))
}

func (f *fixedTranscript) Draw(dst []field.M31) {
	rng := f.rng()
	for i := range dst {
		dst[i] = field.M31(rng.Uint32N(field.P))
	}
}

func (f *fixedTranscript) DrawIndices(dst []uint64, bits int) {
	rng := f.rng()
	for i := range dst {
		for {
			if dst[i] = rng.Uint64N(1 << bits); !slices.Contains(dst[:i], dst[i]) {
				break
			}
		}
	}
}

// toy is a product, two look-ups and a view. The seed draws its weights.
func toy(seed uint64) *builder {
	b := &builder{}
	x := b.input(4)
	w := b.fixed(rand.New(rand.NewPCG(seed, 5)), 3, 3, 4)
	y := b.requantise("y", []int{3}, model.Acc{Products: []model.Product{{Coef: 1, A: w, B: x, LabelsA: []int{0, 10}, LabelsB: []int{10}}}}, 6,
		b.table(model.Table{Name: "clamp", Kind: model.TablePiecewise, Bits: 6, Min: -1 << 5, Pieces: []model.Piece{
			{End: 1<<5 - 20, Offset: -20}, {End: 1<<5 + 20, Slope: 1, Offset: -20}, {End: 1 << 6, Offset: 20}}}))
	out := b.virtual([]int{3}, model.Linear{Coef: 3, Src: y, View: &model.View{Groups: []model.Group{
		{Out: []int{0}, In: []int{0}, Base: 2, Strides: []int{-1}}}}})
	b.g.Tensors[out].Min, b.g.Tensors[out].Max = -1<<10, 1<<10
	b.g.Outputs = []model.TensorID{out}
	b.g.Finish(0)
	return b
}

// joint is a plan with everything fixed that is, and what is left out.
type joint struct {
	t      *testing.T
	plan   *plan.Plan
	public reduce.Public
	sent   []field.QM31 // for pads
	ends   [3]field.QM31

	graph   *model.Graph
	trees   []plan.Tree
	opening backend.Opening

	noPads, noRoundPads, noDummies bool
	noAuxiliaryPads                bool
	masks, short                   int // so many masks; tails of the witness and pads so much too short
	fixedShort                     int // tails of the key
	apartShort                     int // tails of an input that was committed to
}

// secrets are a witness and the stack of pads with which everything fixed is sent, and what is sent before the opening.
type secrets struct {
	wit    backend.Witness
	values []field.QM31
	sent   []field.M31
	terms  whir.Terms
	value  field.QM31
}

// start is the transcript of a sub-transcript, or with −1 the one behind them, and with −2 that of the opening.
func (j *joint) start(fork int) (*fixedTranscript, *transcript.Sponge) {
	f := &fixedTranscript{seed: uint64(1000 + fork)}
	return f, transcript.Over(j.plan.Config.Hash, f)
}

// forks returns the sub-transcripts, and what they send.
func (j *joint) forks(s *secrets) (bodies [][]byte, sent []field.M31) {
	for i, f := range j.plan.Forks {
		to, start := j.start(i)
		w := transcript.NewWriter(start)
		w.Mask(j.plan.Pads.Of(i, s.values))
		b := cpu.New(j.plan.Graph, s.wit)
		role := reduce.NewProver(j.t.Context(), w, b)
		reduce.Run(j.plan, f, role, j.public)
		if err := role.Err(); err != nil {
			j.t.Fatal(err)
		}
		w.Unmask()
		b.Close()
		bodies, sent = append(bodies, w.Bytes()), append(sent, to.sent...)
	}
	return bodies, sent
}

// products returns what the proof of products sends.
func (j *joint) products(values []field.QM31) []field.QM31 {
	to, main := j.start(-1)
	j.plan.Pads.Prove(transcript.NewWriter(main), values)
	return elementsOf(to.sent)
}

func elementsOf(v []field.M31) []field.QM31 {
	e := make([]field.QM31, len(v)/4)
	for i := range e {
		e[i] = field.NewQM31(v[4*i], v[4*i+1], v[4*i+2], v[4*i+3])
	}
	return e
}

// Places of the stack: pads of sub-transcripts and rounds lie before products, and twelve elements of dummies behind them.
func (j *joint) rounds() (from, to int) {
	for _, f := range j.plan.Forks {
		n, _ := f.Masked()
		from += n
	}
	return from, from + 2*j.plan.Pads.Vars()
}

const dummyTriples = 4

func (j *joint) dummies(values []field.QM31) []field.QM31 { return values[len(values)-3*dummyTriples:] }

// multiply sets the products of pads.
func (j *joint) multiply(values []field.QM31) {
	at := 0
	_, product := j.rounds()
	for _, f := range j.plan.Forks {
		n, triples := f.Masked()
		for _, t := range triples {
			values[product] = values[at+t[0]].Mul(values[at+t[1]])
			product++
		}
		at += n
	}
}

// with returns the secrets of a witness, and dummies drawn, with which everything that pads are for is what is fixed.
func (j *joint) with(wit backend.Witness, seed uint64) *secrets {
	rng := rand.New(rand.NewPCG(seed, 9))
	s := &secrets{wit: wit, values: make([]field.QM31, j.plan.Pads.Elements())}
	from, to := j.rounds()
	if !j.noPads {
		_, sent := j.forks(s)
		for i, v := range elementsOf(sent) {
			s.values[i] = v.Sub(j.sent[i])
		}
	}
	j.multiply(s.values)
	if !j.noDummies {
		j.solveDummies(s.values, rng)
	}
	if !j.noRoundPads {
		for i, v := range j.products(s.values)[:to-from] {
			s.values[from+i] = v.Sub(j.sent[from+i])
		}
	}
	j.join(s)
	return s
}

// solveDummies draws dummies with which the ends of the proof of products are the fixed ones.
func (j *joint) solveDummies(values []field.QM31, rng *rand.Rand) {
	ends := func(values []field.QM31) [3]field.QM31 {
		all := j.products(values)
		return [3]field.QM31(all[len(all)-3:])
	}
	var e, x, y [dummyTriples]field.QM31
	for k := range e {
		alone := make([]field.QM31, len(values))
		j.dummies(alone)[3*k] = field.One
		e[k] = ends(alone)[0]
		x[k], y[k] = random(rng), random(rng)
	}
	var left [3]field.QM31
	for i, v := range ends(values) {
		left[i] = j.ends[i].Sub(v)
	}
	// x_0 and y_0 follow from the others, and y_1 from Σ e·x·y, in which it is linear.
	x[0] = left[0]
	a := left[1]
	for k := 1; k < dummyTriples; k++ {
		x[0] = x[0].Sub(e[k].Mul(x[k]))
		if k > 1 {
			a = a.Sub(e[k].Mul(y[k]))
			left[2] = left[2].Sub(e[k].Mul(x[k]).Mul(y[k]))
		}
	}
	x[0] = x[0].Mul(e[0].Inv())
	y[1] = left[2].Sub(x[0].Mul(a)).Mul(e[1].Mul(x[1].Sub(x[0])).Inv())
	y[0] = a.Sub(e[1].Mul(y[1])).Mul(e[0].Inv())
	for k := range e {
		copy(j.dummies(values)[3*k:], []field.QM31{x[k], y[k], x[k].Mul(y[k])})
	}
}

func random(rng *rand.Rand) field.QM31 {
	m := func() field.M31 { return field.M31(rng.Uint32N(field.P)) }
	return field.NewQM31(m(), m(), m(), m())
}

// vectorRows are the rows of a tree whose random values are entries of a vector, from a number on.
type vectorRows struct {
	of     *cpu.Rows
	values [][]field.M31 // of masks and the auxiliary row
	tails  [][]field.M31
}

func (v *vectorRows) Rows() int { return v.of.Rows() }
func (v *vectorRows) FillRow(i, from int, dst []int32) {
	if v.values[i] == nil {
		v.of.FillRow(i, from, dst)
		return
	}
	for k := range dst {
		dst[k] = int32(v.values[i][from+k].Int64())
	}
}
func (v *vectorRows) FillTail(i int, dst []field.M31)       { copy(dst, v.tails[i]) }
func (v *vectorRows) FillSalts(_ uint64, dst []hash.Digest) { clear(dst) }

// sources returns the rows of all trees with the random values set by put, which is asked for each of them once, in order. What is
// left out is zero, and not asked for.
func (j *joint) sources(s *secrets, put func() field.M31) (srcs []whir.RowSource) {
	for i := range j.trees {
		c := j.trees[i].Commitment
		c.Secrets = &backend.Secrets{Pads: s.values}
		v := &vectorRows{of: cpu.NewRows(j.graph, s.wit, c)}
		list := func(n, of int) []field.M31 {
			l := make([]field.M31, of)
			for k := range n {
				l[k] = put()
			}
			return l
		}
		for k, g := range c.Groups {
			for r := range g.Rows {
				kind, short := c.Parts[k].Kind, 0
				var values []field.M31
				switch {
				case kind == backend.Masks && c.Parts[k].First+r >= j.masks:
					values, short = make([]field.M31, 1<<c.RowVars), g.Tail
				case kind == backend.Masks:
					values = list(1<<c.RowVars, 1<<c.RowVars)
				case kind == backend.Auxiliary:
					pads := 0
					if j.noAuxiliaryPads {
						pads = soundness.PadLimbs * j.opening.Params.Levels[0].FoldVars
					}
					values = append(make([]field.M31, pads), list(1<<c.RowVars-pads, 1<<c.RowVars-pads)...)
				case j.trees[i].Fixed:
					short = j.fixedShort
				case j.trees[i].Apart > 0:
					short = j.apartShort
				default:
					short = j.short
				}
				v.values, v.tails = append(v.values, values), append(v.tails, list(g.Tail-short, g.Tail))
			}
		}
		srcs = append(srcs, v)
	}
	return srcs
}

// watched are passes that keep opened columns, and the row that level 1 commits to: all that comes later follows from that.
type watched struct {
	whir.Passes
	to *fixedTranscript
}

func (w watched) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	leaves, err := w.Passes.Columns(ctx, tree, positions)
	w.to.sent = append(w.to.sent, slices.Concat(leaves...)...)
	return leaves, err
}

func (w watched) Commit(ctx context.Context, l soundness.Level) (hash.Digest, error) {
	row, err := w.Passes.Values(ctx)
	if err != nil {
		return hash.Digest{}, err
	}
	for _, v := range row {
		limbs := v.Limbs()
		w.to.sent = append(w.to.sent, limbs[:]...)
	}
	return w.Passes.Commit(ctx, l)
}

// join is what comes before the opening.
func (j *joint) join(s *secrets) {
	bodies, sent := j.forks(s)
	to, main := j.start(-1)
	var claims []plan.Claim
	var reads []pads.Read
	for i, body := range bodies {
		_, start := j.start(i)
		r := transcript.NewReader(start, body)
		c := make([]plan.Claim, len(j.plan.Forks[i].Claims))
		read := reduce.Read(c, j.plan, i, r, j.public)
		if err := r.Done(); err != nil {
			j.t.Fatal(err)
		}
		claims, reads = append(claims, c...), append(reads, read)
	}
	w := transcript.NewWriter(main)
	before := w.Clone()
	j.plan.Pads.Prove(w, s.values)
	ends := j.plan.Pads.Verify(transcript.NewReader(before, w.Bytes()))
	tau := w.Challenges(j.plan.TailVars())
	s.terms, s.value = j.plan.Cut(claims).CombineMasked(reads, ends, tau, w.Challenge())
	s.sent = append(sent, to.sent...)
}

// view returns all that a proof sends.
func (j *joint) view(s *secrets, put func() field.M31) []field.M31 {
	to, main := j.start(-2)
	w := transcript.NewWriter(main)
	srcs := j.sources(s, put)
	trees, layouts := make([]*whir.Tree, len(srcs)), make([]whir.Layout, len(srcs))
	for i, src := range srcs {
		var err error
		layouts[i] = j.trees[i].Layout
		if trees[i], err = whir.Commit(j.t.Context(), layouts[i], src); err != nil {
			j.t.Fatal(err)
		}
	}
	o := j.opening
	passes := watched{whir.NewPasses(nil, o.Params, layouts, srcs, o.RowOffsets), to}
	defer passes.Close()
	if err := whir.Open(j.t.Context(), w, o.Params, trees, passes, o.RowOffsets, s.terms, s.value); err != nil {
		j.t.Fatal(err)
	}
	return slices.Concat(s.sent, to.sent)
}

// checkAffine fails if random values change the views of two secrets in different ways.
func (j *joint) checkAffine(a, b *secrets) {
	change := func(s *secrets) []field.M31 {
		rng := rand.New(rand.NewPCG(13, 14))
		v := j.view(s, func() field.M31 { return field.M31(rng.Uint32N(field.P)) })
		field.SubVec(v, v, j.view(s, func() field.M31 { return 0 }))
		return v
	}
	if a.value != b.value || !slices.Equal(a.sent, b.sent) || !slices.Equal(change(a), change(b)) {
		j.t.Error("the opening is not what the test thinks")
	}
}

// leaks returns the dimension over F of what differences between secrets are beyond what random values change.
func (j *joint) leaks(others []*secrets) int {
	zero := func() field.M31 { return 0 }
	base := j.view(others[0], zero)
	n := 0
	j.sources(others[0], func() field.M31 { n++; return 0 })
	var span eliminator
	for k := range n {
		at := -1
		v := j.view(others[0], func() field.M31 {
			if at++; at == k {
				return 1
			}
			return 0
		})
		field.SubVec(v, v, base)
		span.add(v)
	}
	rank := len(span.rows)
	for _, s := range others[1:] {
		v := j.view(s, zero)
		if len(v) != len(base) {
			j.t.Fatalf("%d elements for one, %d for another", len(base), len(v))
		}
		field.SubVec(v, v, base)
		span.add(v)
	}
	return len(span.rows) - rank
}

// eliminator keeps vectors that are linearly independent, each with 1 in a place where those behind it have 0.
type eliminator struct {
	rows  [][]field.M31
	pivot []int
}

func (e *eliminator) add(v []field.M31) {
	room := make([]field.M31, len(v))
	for i, row := range e.rows {
		if f := v[e.pivot[i]]; f != 0 {
			from := e.pivot[i]
			field.ScaleVec(room[from:], row[from:], f)
			field.SubVec(v[from:], v[from:], room[from:])
		}
	}
	if j := slices.IndexFunc(v, func(x field.M31) bool { return x != 0 }); j >= 0 {
		field.ScaleVec(v, v, v[j].Inv())
		e.rows, e.pivot = append(e.rows, v), append(e.pivot, j)
	}
}

// jointOf is an instance of toy's circuit with everything fixed that is, and runs of other weights and inputs that state the same.
func jointOf(t *testing.T, key *proof.Key, in model.Instance, tailLog int) (good joint, witnesses []backend.Witness) {
	t.Helper()
	good = joint{t: t, masks: soundness.Masks}
	var err error
	if good.plan, err = key.HidingPlan(in, tailLog); err != nil {
		t.Fatal(err)
	}
	good.graph, good.trees, good.opening = good.plan.Graph, good.plan.Trees, good.plan.Opening()
	rng := rand.New(rand.NewPCG(11, 12))
	for range good.plan.Pads.Elements() {
		good.sent = append(good.sent, random(rng))
	}
	good.ends = [3]field.QM31{random(rng), random(rng), random(rng)}
	var stated [][]int32
	for seed := uint64(1); len(witnesses) < 6; seed++ {
		wit, err := forward.Restate(t.Context(), nil, toy(seed).run(t, rand.New(rand.NewPCG(seed, 72))), good.plan.Graph)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{plan: good.plan, wit: wit}
		public := reduce.Public{Inputs: r.public(good.plan.Graph.Inputs), Outputs: r.public(good.plan.Graph.Outputs)}
		now := slices.Concat(public.Inputs[:len(good.plan.Graph.Given())], public.Outputs)
		if stated == nil {
			stated, good.public = now, public
		}
		if slices.EqualFunc(stated, now, slices.Equal) {
			witnesses = append(witnesses, wit)
		}
	}
	return good, witnesses
}

// TestJointRanks: the view of a whole proof is the same for all weights and inputs with which it states the same, and with any of the
// means of that left out it is not.
func TestJointRanks(t *testing.T) {
	sec := proof.Security{TargetBits: 1, GrindBits: 0}
	first := toy(1)
	p, err := PlanMasked(first.g.Template(), sec, 1)
	if err != nil {
		t.Fatal(err)
	}
	tails, err := TailsKey(first.g.Template(), p, first.w, sec, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := CommitMasked(t.Context(), first.g.Template(), p, first.w, sec, tails, Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := first.g.Instance
	in.HiddenInputs, in.Reveals = []int{0}, []model.Reveal{{Output: 0}}
	good, witnesses := jointOf(t, key, in, p.Choice.TailLog)
	cases := []leak{
		{"as it is", func(*joint) {}, false},
		{"elements without pads", func(j *joint) { j.noPads = true }, true},
		{"rounds of the opening without pads", func(j *joint) { j.noAuxiliaryPads = true }, true},
		{"three masks", func(j *joint) { j.masks = 3 }, true},
		{"tails of the witness one short", func(j *joint) { j.short = 1 }, true},
	}
	if *full {
		cases = append(cases, []leak{
			{"products without pads of rounds", func(j *joint) { j.noRoundPads = true }, true},
			{"no dummies", func(j *joint) { j.noDummies = true }, true},
			{"no masks", func(j *joint) { j.masks = 0 }, true},
			{"tails of the key too short", func(j *joint) { j.fixedShort = p.Trees[0].Groups[0].Tail - 1 }, true},
		}...)
	}
	ranks(t, good, witnesses, cases)
}

// leak is what is left out of a proof, and whether its view then tells secrets apart.
type leak struct {
	name   string
	change func(*joint)
	leaks  bool
}

// ranks computes what proofs tell of secrets with which they state the same.
func ranks(t *testing.T, good joint, witnesses []backend.Witness, cases []leak) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := good
			j.t = t
			c.change(&j)
			if !*full && c.leaks {
				t.Skip("takes a second or more: make full")
			}
			var others []*secrets
			for i, wit := range witnesses {
				others = append(others, j.with(wit, uint64(i)))
			}
			others = append(others, j.with(witnesses[0], 100)) // other dummies alone
			if !c.leaks {
				j.checkAffine(others[0], others[1])
			}
			leaks := j.leaks(others)
			t.Logf("%d dimensions", leaks)
			if (leaks > 0) != c.leaks {
				t.Errorf("%d dimensions of the secrets", leaks)
			}
		})
	}
}

// TestCommittedRanks is TestJointRanks for a proof of an input that was committed to: it says nothing of it by the columns of the input's own
// tree either, whose tails are its own.
func TestCommittedRanks(t *testing.T) {
	sec := proof.Security{TargetBits: 1, GrindBits: 0}
	first := toy(1)
	p, err := PlanMasked(first.g.Template(), sec, 1)
	if err != nil {
		t.Fatal(err)
	}
	tails, err := TailsKey(first.g.Template(), p, first.w, sec, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := CommitMasked(t.Context(), first.g.Template(), p, first.w, sec, tails, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := PlanInput(sec, []int{4}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := first.g.Instance
	in.HiddenInputs, in.Reveals = []int{0}, []model.Reveal{{Output: 0}}
	in.Committed = []model.Committed{{Input: 0, RowVars: c.RowVars, TailLog: c.TailLog}}
	good, witnesses := jointOf(t, key, in, p.Choice.TailLog)
	tail := 0
	for _, tree := range good.trees {
		if tree.Apart > 0 {
			tail = tree.Groups[0].Tail
		}
	}
	ranks(t, good, witnesses, []leak{
		{"as it is", func(*joint) {}, false},
		{"tails of the input too short", func(j *joint) { j.apartShort = tail - 1 }, true},
		{"no masks", func(j *joint) { j.masks = 0 }, true},
	})
}
