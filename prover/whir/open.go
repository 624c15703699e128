package whir

import (
	"github.com/prove-model/prove-model/prover/code"
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
	s := proverStatement(params, trees, srcs, rowOffsets, terms, value)
	s.absorb(w.Sponge)
	first := params.Levels[0]

	stack := loadRows(first.RowVars, first.FoldVars, srcs, rowOffsets)
	q := newFunctional(terms, first.RowVars)
	point, p := foldLongRows(w, first, stack, q, value)
	weights := poly.EqTable(append(point, p.bind(w, first.FoldVars-len(point), first.FoldGrind)...))

	var opened oracle = &firstTrees{stack, trees, rowOffsets}
	for i, l := range params.Levels {
		if i+1 == len(params.Levels) {
			w.SendQM31(p.f...)
			w.Grind(l.QueryGrind)
			opened.open(w, drawPositions(w.Sponge, l), weights)
			break
		}
		nextLevel := params.Levels[i+1]
		next := commitFolded(p.f, nextLevel)
		w.SendDigest(next.nodes.Root())
		samples := make([]sample, nextLevel.OutOfDomain)
		for k := range samples {
			z := w.Challenge()
			samples[k] = sample{z, code.EvalAt(p.f, z)}
			w.SendQM31(samples[k].value)
		}
		w.Grind(l.QueryGrind)
		positions := drawPositions(w.Sponge, l)
		values := opened.open(w, positions, weights)
		c, sum := join(w.Challenge(), samples, domainPoints(l, positions), values)
		c.addTo(p.q, l.RowVars)
		p.claim = p.claim.Add(sum)
		weights = poly.EqTable(p.bind(w, nextLevel.FoldVars, nextLevel.FoldGrind))
		opened = next
	}
	p.bind(w, params.FinalVars(), 0)
}

// foldLongRows proves the sumcheck over the first row variables, and returns
// their challenges and what is left to prove on the rows they fold to.
func foldLongRows(w *transcript.Writer, first soundness.Level, stack *stackRows, q *functional, value field.QM31) ([]field.QM31, *pair) {
	vars := min(first.FoldVars, gridVars)
	point, claim := productGrid(stack, vars, q).bindRows(w, first.FoldGrind, value)
	weights := poly.EqTable(point)
	return point, &pair{f: stack.fold(weights), q: q.folded(weights, len(stack.rows)), claim: claim}
}

// proverStatement gathers the statement of an opening and panics if its parts do
// not fit together.
func proverStatement(params *soundness.Params, trees []*Tree, srcs []RowSource, rowOffsets []uint64, terms []Term, value field.QM31) *statement {
	if len(srcs) != len(trees) {
		panic("whir: one source for each tree")
	}
	s := &statement{params, make([]poseidon2.Digest, len(trees)), make([]int, len(trees)), rowOffsets, terms, value}
	for i, t := range trees {
		if t.rows != srcs[i].Rows() || t.rowVars != params.RowVars() || t.logBlowup != params.Levels[0].LogBlowup {
			panic("whir: a tree of another shape than its source or the parameters")
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
	stack      *stackRows
	trees      []*Tree
	rowOffsets []uint64
}

func (o *firstTrees) open(w *transcript.Writer, positions []uint64, weights []field.QM31) []field.QM31 {
	values := make([]field.QM31, len(positions))
	for i, t := range o.trees {
		first := int(o.rowOffsets[i])
		leaves := o.stack.leaves(first, t.rows, t.logBlowup, positions)
		writeLeaves(w, t.nodes, positions, leaves)
		for k, leaf := range leaves {
			values[k] = values[k].Add(field.DotM31(leaf, weights[first:first+t.rows]))
		}
	}
	return values
}

func (t *foldedTree) open(w *transcript.Writer, positions []uint64, weights []field.QM31) []field.QM31 {
	leaves := t.leaves(positions)
	writeLeaves(w, t.nodes, positions, leaves)
	values := make([]field.QM31, len(positions))
	for k, leaf := range leaves {
		values[k] = foldLeaf(leaf, weights)
	}
	return values
}
