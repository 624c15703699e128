package whir

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

var (
	errFinalRow = errors.New("whir: the last row is not what was committed to")
	errClaim    = errors.New("whir: the committed values do not give the claimed one")
)

// Verify reads a proof that [Open] wrote for trees with these roots, layouts and
// row offsets, and the same params, terms and value, and records an error in r if
// it is not one. Time and memory are bounded by the statement and params, whatever
// the proof's bytes are.
func Verify(r *transcript.Reader, params *soundness.Params, roots []hash.Digest, layouts []Layout, rowOffsets []uint64, terms Terms, value field.QM31) {
	s := &statement{params, roots, layouts, rowOffsets, terms, value}
	if err := s.check(); err != nil {
		r.Fail(err)
		return
	}
	if r.Err() == nil {
		s.verify(r)
	}
}

// verify is the verifier's counterpart of opener.open. Step i of its loop reads the
// commitment to level i + 1, or after the last level the row itself, then the opening of level i,
// and the rounds over the row variables of level i + 1.
func (s *statement) verify(r *transcript.Reader) {
	s.absorb(r.Sponge)
	first := s.params.Levels[0]
	point, claim := receiveRounds(r, first.FoldVars, first.FoldGrind, s.value)
	weights := rowWeights{table: poly.EqTable(point)} // of the rows of the level being opened
	if s.params.TailLog > 0 {
		var bound field.QM31
		bound, claim = receiveRound(r, first.FoldGrind, claim)
		weights = weights.withAuxiliary(bound)
		point = append(point, bound)
	}
	var root hash.Digest      // root of the tree of the level being opened, from level 1 on
	var joined []*Constraints // joined[i] are on the row that level i folds to
	for i, l := range s.params.Levels {
		last := i+1 == len(s.params.Levels)
		var next soundness.Level
		var nextRoot hash.Digest
		var samples []sample
		var row []field.QM31
		if last {
			row = r.QM31s(1 << l.RowVars)
		} else {
			next = s.params.Levels[i+1]
			nextRoot = r.Digest()
			samples = make([]sample, next.OutOfDomain)
			for k, z := range r.Challenges(next.OutOfDomain) {
				samples[k].z = z
			}
			for k := range samples {
				samples[k].value = r.QM31()
			}
		}
		r.CheckGrind(l.QueryGrind)
		if r.Err() != nil {
			return
		}
		positions := drawPositions(r.Sponge, l)
		points := domainPoints(l, positions)
		var values []field.QM31
		switch {
		case i == 0:
			values = s.readFirst(r, positions, points, weights)
		case last:
			// The codeword of the row gives one element of each leaf.
			readLast(r, l, root, positions, weights.table, codeValues(row, l.RowVars, points))
		default:
			values = readFolded(r, l, root, positions, weights.table)
		}
		if r.Err() != nil {
			return
		}
		if last {
			if i == 0 && !slices.Equal(values, codeValues(row, l.RowVars, points)) {
				r.Fail(errFinalRow)
				return
			}
			s.checkFinal(r, row, joined, point, claim)
			return
		}
		c, sum := join(r.Challenge(), samples, points, values)
		joined = append(joined, c)
		var more []field.QM31
		more, claim = receiveRounds(r, next.FoldVars, next.FoldGrind, claim.Add(sum))
		weights, root = rowWeights{table: poly.EqTable(more)[:s.params.LeafRows(i+1)]}, nextRoot
		point = append(point, more...)
	}
}

// checkFinal runs the last rounds and checks that the row sent in the clear, times the
// functional with all constraints joined to it, has the value that the claim has become.
func (s *statement) checkFinal(r *transcript.Reader, row []field.QM31, joined []*Constraints, point []field.QM31, claim field.QM31) {
	vars := s.params.FinalVars()
	last, claim := receiveRounds(r, vars, 0, claim)
	point = append(point, last...)
	q, err := s.evalFunctional(point)
	if err != nil {
		r.Fail(err)
		return
	}
	for i := range joined {
		n := s.params.FoldedVars(i)
		q = q.Add(joined[i].eval(point[len(point)-n:]))
	}
	if poly.Eval(row, last).Mul(q) != claim {
		r.Fail(errClaim)
	}
}

// codeValues returns the values of the codeword of a row at the points.
func codeValues(row []field.QM31, vars int, points []field.M31) []field.QM31 {
	at := newEvaluator(row, vars)
	values := make([]field.QM31, len(points))
	for i, z := range points {
		values[i] = at.eval(z)
	}
	return values
}

// evaluator gives values of the codeword of a row.
type evaluator struct {
	row   []field.QM31
	lower []field.M31 // room for the weights of a point
	upper []field.QM31
}

func newEvaluator(row []field.QM31, vars int) *evaluator {
	low := min(vars, lowVars)
	return &evaluator{row, make([]field.M31, 1<<low), make([]field.QM31, 1<<(vars-low))}
}

// eval returns the value at z.
func (e *evaluator) eval(z field.M31) field.QM31 {
	BaseConstraint{field.One, z}.splitInto(e.lower, e.upper)
	var sum field.QM31
	for h, u := range e.upper {
		sum = sum.Add(u.Mul(field.DotM31(e.lower, e.row[h*len(e.lower):][:len(e.lower)])))
	}
	return sum
}

// readFirst reads the openings of the first trees at positions of the table's domain, and
// returns the values there of the codeword that all table rows fold to. points are the points at
// the positions. After an error the values mean nothing.
func (s *statement) readFirst(r *transcript.Reader, positions []uint64, points []field.M31, weights rowWeights) []field.QM31 {
	values := make([]field.QM31, len(positions))
	for i, root := range s.roots {
		l := &s.layouts[i]
		leaves := readLeaves(r, root, l.LogDomain(), leafPositions(positions, s.shift(i)), l.groupRows(), l.Salted(), nil)
		if leaves == nil {
			break
		}
		s.addValues(values, i, leaves, positions, points, weights)
	}
	return values
}

// addValues adds what a tree's leaves contribute to the values of the codeword that all table
// rows fold to ([Layout.addValues]).
func (s *statement) addValues(values []field.QM31, tree int, leaves [][]field.M31, positions []uint64, points []field.M31, weights rowWeights) {
	s.layouts[tree].addValues(values, leaves, positions, points, weights.from(s.rowOffsets[tree]), s.shift(tree))
}

// readFolded is readFirst for the tree of level l, a later one than level 0.
func readFolded(r *transcript.Reader, l soundness.Level, root hash.Digest, positions []uint64, weights []field.QM31) []field.QM31 {
	values := make([]field.QM31, len(positions))
	for k, leaf := range readLeaves(r, root, l.LogDomain(), positions, r.Suite().Groups(limbs*len(weights)), false, nil) {
		values[k] = foldLeaf(leaf, weights)
	}
	return values
}

// readLast reads the leaves of the last level. The first element of a leaf is not sent. It is
// computed from values, those of the codeword of the row sent in the clear: with it the leaf
// folds to its value. The Merkle path shows whether it is the element that was committed to.
func readLast(r *transcript.Reader, l soundness.Level, root hash.Digest, positions []uint64, weights, values []field.QM31) {
	if weights[0] == field.Zero {
		r.Fail(errFinalRow) // of probability 2^−120: then the value does not determine the first element
		return
	}
	inverse := weights[0].Inv()
	readLeaves(r, root, l.LogDomain(), positions, r.Suite().Groups(limbs*len(weights)), false, func(k int, leaf []field.M31) {
		first := values[k].Sub(foldLeaf(leaf[limbs:], weights[1:])).Mul(inverse).Limbs()
		copy(leaf, first[:])
	})
}
