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

// Open writes a proof that Σ_x Table(x)·Q(x) = value (docs/protocol.md, "Openings"). The
// table is that of the passes, and trees[i] commits to its rows from table row rowOffsets[i]
// on. Q is the sum of the terms. Trees come in increasing order and do not share table rows.
// The passes cannot be used again.
//
// The caller must have absorbed everything that the terms and the value are computed
// from, above all the trees' roots. The caller also makes sure that the value is right:
// Open does not notice a wrong one, but Verify refuses the proof. Open returns an error if the
// arguments do not fit params, or if the passes or trees return one; what it has written by
// then is no proof.
func Open(ctx context.Context, w *transcript.Writer, params *soundness.Params, trees []*Tree, passes Passes, rowOffsets []uint64, terms Terms, value field.QM31) (err error) {
	defer must.Catch(&err)
	s := must.Get(proverStatement(params, trees, rowOffsets, terms, value))
	o := &opener{ctx, w, s, trees, passes, value, transcript.NewRoom(len(w.Bytes()) + s.size())}
	o.open()
	return nil
}

// opener is the prover's side of one opening. At any time Σ_x f(x)·q(x) = claim is what
// remains to be proved, with the tables f and q of the passes. The first error of the passes
// or trees ends the opening by a panic (package must), from which Open returns the error.
type opener struct {
	ctx    context.Context // of the one call that an opener lives for
	w      *transcript.Writer
	s      *statement
	trees  []*Tree
	passes Passes
	claim  field.QM31       // in the first rounds of a hiding opening, less the pads
	room   *transcript.Room // for the first leaves, most of the proof
}

// open writes the proof, level by level, as the package comment describes it.
func (o *opener) open() {
	o.s.absorb(o.w.Sponge)
	must.OK(o.passes.Begin(o.ctx, o.s.functional()))
	weights := o.first()
	for i := range len(o.s.params.Levels) - 1 {
		weights = o.level(i, weights)
	}
	o.finish(weights)
}

// first runs the rounds over the row variables of the table, so that f is one row. It returns
// the weights with which the table's rows fold to it.
func (o *opener) first() rowWeights {
	if o.s.params.TailLog > 0 {
		return o.firstHidden()
	}
	l := o.s.params.Levels[0]
	return rowWeights{table: poly.EqTable(o.bind(l.FoldVars, l.FoldGrind))}
}

// level goes from level i to level i + 1. f is the row that level i folds to, with the given
// weights. It commits to f as level i + 1, opens level i at random positions, joins the values
// found there to the claim, and runs the rounds over the row variables of level i + 1. It
// returns the weights with which the rows of that level fold.
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

// finish sends the row that the last level folds to, opens that level and runs the last
// rounds, over all variables of the row.
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

// query draws positions of a level and opens the level there. It returns the values that
// the codeword of the row that the level folds to with the weights has at the positions.
func (o *opener) query(level int, weights rowWeights) (positions []uint64, values []field.QM31) {
	l := o.s.params.Levels[level]
	o.grind(l.QueryGrind)
	positions = drawPositions(o.w.Sponge, l)
	if level == 0 {
		return positions, o.openFirst(positions, weights)
	}
	return positions, o.openFolded(level-1, positions, weights.table)
}

// openFirst is query for level 0: it opens the first trees, all at the same positions of the
// table's domain.
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

// openFolded is query for level n + 1, the n-th folded row committed to, from 0 on.
func (o *opener) openFolded(n int, positions []uint64, weights []field.QM31) []field.QM31 {
	leaves := must.Get(o.passes.Leaves(o.ctx, n, positions))
	skip := 0
	if n+2 == len(o.s.params.Levels) {
		skip = limbs // the verifier computes the first element of a leaf of the last level (readLast)
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
