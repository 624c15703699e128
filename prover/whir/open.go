package whir

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
)

// Open writes a proof that Σ_x Stack(x)·Q(x) = value, where trees[i] commits to
// the rows of srcs[i], the first of which is row rowOffsets[i] of the stack's
// table, and Q is the sum of the terms. Trees come in increasing order and do
// not overlap.
//
// The caller must have absorbed all that the terms and the value are computed
// from, the trees' roots first of all. That the value is right is the caller's
// to ensure as well: Open does not notice a wrong one, Verify does. It panics on
// arguments that do not fit params.
//
// Memory is 6 bytes for each value of the stack and some 200 to 400, depending
// on the parameters, for each value of one row.
func Open(w *transcript.Writer, params *soundness.Params, trees []*Tree, srcs []RowSource, rowOffsets []uint64, terms []Term, value field.QM31) {
	if len(srcs) != len(trees) {
		panic("whir: one source for each tree")
	}
	for i, t := range trees {
		if t.rows != srcs[i].Rows() {
			panic("whir: a tree of another shape than its source")
		}
	}
	s := proverStatement(params, trees, rowOffsets, terms, value)
	first := params.Levels[0]
	s.open(w, loadRows(first.RowVars, first.FoldVars, srcs, rowOffsets), trees)
}

// OpenRows is [Open] for rows that are somewhere else, on a device for example.
func OpenRows(w *transcript.Writer, params *soundness.Params, trees []*Tree, rows Rows, rowOffsets []uint64, terms []Term, value field.QM31) {
	proverStatement(params, trees, rowOffsets, terms, value).open(w, rows, trees)
}

func (s *statement) open(w *transcript.Writer, rows Rows, trees []*Tree) {
	s.absorb(w.Sponge)
	levels := s.params.Levels
	first := levels[0]

	point, p := s.foldLongRows(w, rows)
	weights := poly.EqTable(append(point, p.bind(w, first.FoldVars-len(point), first.FoldGrind)...))

	var opened oracle = &firstTrees{rows, trees, s.rowOffsets}
	for i, l := range levels {
		if i+1 == len(levels) {
			w.SendQM31(p.F()...)
			w.Grind(l.QueryGrind)
			opened.open(w, drawPositions(w.Sponge, l), weights)
			break
		}
		nextLevel := levels[i+1]
		next := p.Commit(nextLevel)
		w.SendDigest(next.Nodes().Root())
		samples := make([]sample, nextLevel.OutOfDomain)
		for k := range samples {
			z := w.Challenge()
			samples[k] = sample{z, p.At(z)}
			w.SendQM31(samples[k].value)
		}
		w.Grind(l.QueryGrind)
		positions := drawPositions(w.Sponge, l)
		values := opened.open(w, positions, weights)
		c, sum := join(w.Challenge(), samples, domainPoints(l, positions), values)
		p.Add(c)
		p.claim = p.claim.Add(sum)
		weights = poly.EqTable(p.bind(w, nextLevel.FoldVars, nextLevel.FoldGrind))
		opened = foldedTree{next}
	}
	p.bind(w, s.params.FinalVars(), 0)
}

// foldLongRows proves the sumcheck over the first row variables, and returns
// their challenges and what is left to prove on the rows they fold to.
func (s *statement) foldLongRows(w *transcript.Writer, rows Rows) ([]field.QM31, *claimed) {
	first := s.params.Levels[0]
	vars := min(first.FoldVars, GridVars)
	q := newFunctional(s.terms, first.RowVars)
	g := grid{vars, rows.Grid(vars, q)}
	point, claim := g.bindRows(w, first.FoldGrind, s.value)
	return point, &claimed{rows.Fold(poly.EqTable(point), q), claim}
}

// claimed is a claim Σ_x f(x)·q(x) = claim in the course of being proved.
type claimed struct {
	Tables
	claim field.QM31
}

// bind proves n rounds of the sumcheck of the claim, binding the first
// variables of both tables, and returns the challenges.
func (p *claimed) bind(w *transcript.Writer, n, grind int) []field.QM31 {
	point := make([]field.QM31, n)
	for i := range point {
		zero, top := p.Round()
		point[i], p.claim = sendRound(w, zero, top, grind, p.claim)
		p.Bind(point[i])
	}
	return point
}

// proverStatement gathers the statement of an opening and panics if its parts do
// not fit together.
func proverStatement(params *soundness.Params, trees []*Tree, rowOffsets []uint64, terms []Term, value field.QM31) *statement {
	s := &statement{params, make([]poseidon2.Digest, len(trees)), make([]int, len(trees)), rowOffsets, terms, value}
	for i, t := range trees {
		if t.rowVars != params.RowVars() || t.logBlowup != params.Levels[0].LogBlowup {
			panic("whir: a tree of another shape than the parameters")
		}
		s.roots[i], s.rowCounts[i] = t.Root(), t.rows
	}
	if err := s.check(); err != nil {
		panic(err)
	}
	return s
}

// oracle is what one level has committed to.
type oracle interface {
	// open writes the leaves at the positions with their paths, and returns the
	// values there of the codeword that the rows fold to with the weights.
	open(w *transcript.Writer, positions []uint64, weights []field.QM31) []field.QM31
}

// firstTrees are the trees of level 0, opened at the same positions.
type firstTrees struct {
	rows       Rows
	trees      []*Tree
	rowOffsets []uint64
}

func (o *firstTrees) open(w *transcript.Writer, positions []uint64, weights []field.QM31) []field.QM31 {
	values := make([]field.QM31, len(positions))
	for i, t := range o.trees {
		first := int(o.rowOffsets[i])
		leaves := o.rows.Columns(first, t.rows, t.logBlowup, positions)
		writeLeaves(w, t.nodes, positions, leaves)
		for k, leaf := range leaves {
			values[k] = values[k].Add(field.DotM31(leaf, weights[first:first+t.rows]))
		}
	}
	return values
}

// foldedTree is the tree of a later level.
type foldedTree struct{ FoldedRow }

func (t foldedTree) open(w *transcript.Writer, positions []uint64, weights []field.QM31) []field.QM31 {
	leaves := t.Columns(positions)
	writeLeaves(w, t.Nodes(), positions, leaves)
	values := make([]field.QM31, len(positions))
	for k, leaf := range leaves {
		values[k] = foldLeaf(leaf, weights)
	}
	return values
}
