package whir

import (
	"context"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Open writes a proof that Σ_x Table(x)·Q(x) = value, where trees[i] commits to
// the rows from table row rowOffsets[i] of the table on, the table is that of the
// passes, and Q is the sum of the terms. Trees come in increasing order and do not
// share table rows. The passes are used up.
//
// The caller must have absorbed all that the terms and the value are computed
// from, the trees' roots first of all. That the value is right is the caller's
// to ensure as well: Open does not notice a wrong one, Verify does. An error is
// one of arguments that do not fit params, or of the passes and trees; what was
// written by then is no proof.
func Open(ctx context.Context, w *transcript.Writer, params *soundness.Params, trees []*Tree, passes Passes, rowOffsets []uint64, terms Terms, value field.QM31) (err error) {
	defer must.Catch(&err)
	s := must.Get(proverStatement(params, trees, rowOffsets, terms, value))
	o := &opener{ctx, w, s, trees, passes, value, transcript.NewRoom(len(w.Bytes()) + s.size())}
	o.open()
	return nil
}

// opener is the prover's side of one opening, in the course of which it proves
// Σ_x f(x)·q(x) = claim on the tables of the passes. The first error of the passes
// or trees ends it (package must), which Open returns.
type opener struct {
	ctx    context.Context // of the one call that an opener lives for
	w      *transcript.Writer
	s      *statement
	trees  []*Tree
	passes Passes
	claim  field.QM31
	room   *transcript.Room // for the first leaves, most of the proof
}

func (o *opener) open() {
	o.s.absorb(o.w.Sponge)
	must.OK(o.passes.Begin(o.ctx, o.s.functional()))
	weights := o.first()
	for i := range len(o.s.params.Levels) - 1 {
		weights = o.level(i, weights)
	}
	o.finish(weights)
}

// first folds the table to a row, and returns the weights that it folds with.
func (o *opener) first() rowWeights {
	if o.s.params.TailLog > 0 {
		return o.firstHidden()
	}
	l := o.s.params.Levels[0]
	return rowWeights{table: poly.EqTable(o.bind(l.FoldVars, l.FoldGrind))}
}

// level commits to the folded row of level i, opens the level before it at
// random positions and folds the new one. It returns the weights that it folds
// with.
func (o *opener) level(i int, weights rowWeights) rowWeights {
	l, next := o.s.params.Levels[i], o.s.params.Levels[i+1]
	o.w.SendDigest(must.Get(o.passes.Commit(o.ctx, next)))
	samples := make([]sample, next.OutOfDomain)
	for k, z := range o.w.Challenges(len(samples)) {
		samples[k] = sample{z, must.Get(o.passes.At(o.ctx, z))}
	}
	for _, sample := range samples {
		o.w.SendQM31(sample.value)
	}
	positions, values := o.query(i, weights)
	c, sum := join(o.w.Challenge(), samples, domainPoints(l, positions), values)
	o.claim = o.claim.Add(sum)
	must.OK(o.passes.Add(o.ctx, c))
	point := o.bind(next.FoldVars, next.FoldGrind)
	return rowWeights{table: poly.EqTable(point)[:o.s.params.LeafRows(i+1)]}
}

// finish sends the last row, opens the last level and proves what is left of the
// claim.
func (o *opener) finish(weights rowWeights) {
	o.w.SendQM31(must.Get(o.passes.Values(o.ctx))...)
	o.query(len(o.s.params.Levels)-1, weights)
	o.bind(o.s.params.FinalVars(), 0)
}

// round sends a round polynomial by its sums, draws the challenge and moves the
// claim on to it.
func (o *opener) round(s Sums, grind int) field.QM31 {
	o.w.SendQM31(s.Zero, s.Top)
	o.grind(grind)
	r := o.w.Challenge()
	o.claim = field.RoundValue(s.Zero, s.Top, o.claim, r)
	return r
}

func (o *opener) grind(bits int) {
	must.OK(o.w.GrindWith(bits, func(work hash.Work) (uint64, error) {
		return o.passes.Search(o.ctx, work)
	}))
}

// bind proves n rounds of the sumcheck of the claim, binding the first
// variables of both tables, and returns the challenges.
func (o *opener) bind(n, grind int) []field.QM31 {
	point := make([]field.QM31, n)
	for i := range point {
		point[i] = o.round(must.Get(o.passes.Round(o.ctx)), grind)
		must.OK(o.passes.Bind(o.ctx, point[i]))
	}
	return point
}

// query draws positions of a level and opens it there. It returns the values
// there of the codeword that the level's rows fold to with the weights.
func (o *opener) query(level int, weights rowWeights) (positions []uint64, values []field.QM31) {
	l := o.s.params.Levels[level]
	o.grind(l.QueryGrind)
	positions = drawPositions(o.w.Sponge, l)
	if level == 0 {
		return positions, o.openFirst(positions, weights)
	}
	return positions, o.openFolded(level-1, positions, weights.table)
}

// openFirst opens the first trees, all at the same positions.
func (o *opener) openFirst(positions []uint64, weights rowWeights) []field.QM31 {
	values := make([]field.QM31, len(positions))
	points := domainPoints(o.s.params.Levels[0], positions)
	o.w.MoveTo(o.room)
	for i, t := range o.trees {
		own := leafPositions(positions, o.s.shift(i))
		leaves := must.Get(o.passes.Columns(o.ctx, i, own))
		path := must.Get(t.nodes.Path(o.ctx, own))
		salts := must.Get(o.passes.Salts(o.ctx, i, own))
		writeLeaves(o.w, Leaves{leaves, salts, path}, 0)
		o.s.addValues(values, i, leaves, positions, points, weights)
	}
	return values
}

// openFolded opens the n-th folded row.
func (o *opener) openFolded(n int, positions []uint64, weights []field.QM31) []field.QM31 {
	leaves := must.Get(o.passes.Leaves(o.ctx, n, positions))
	skip := 0
	if n+2 == len(o.s.params.Levels) {
		skip = limbs // the verifier finds it (readLast)
	}
	writeLeaves(o.w, leaves, skip)
	values := make([]field.QM31, len(positions))
	for k, leaf := range leaves.Values {
		values[k] = foldLeaf(leaf, weights)
	}
	return values
}

// proverStatement gathers the statement of an opening and says if its parts do
// not fit together.
func proverStatement(params *soundness.Params, trees []*Tree, rowOffsets []uint64, terms Terms, value field.QM31) (*statement, error) {
	s := &statement{params, make([]hash.Digest, len(trees)), make([]Layout, len(trees)), rowOffsets, terms, value}
	for i, t := range trees {
		s.roots[i], s.layouts[i] = t.Root(), t.layout
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, s.checkTerms()
}
