package colsum

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// layout is what the sums over all steps of one shape share, for one tree. F, e and G are those of
// the package comment.
type layout struct {
	rows, columns    []int          // the lengths of the axes that number rows, and columns
	vars, rowVars    int            // numbers of variables, of the step and of its rows
	parts            [][]model.Part // the parts that the columns are cut into
	rowParts         [][]model.Part // the parts that the rows are cut into
	weights          [][]field.QM31 // by part of the columns: e_p, in the order of the part's entries
	order, ends      []int          // the columns, part by part, and where each part ends in this list
	inOrder          []field.QM31   // the weights of all parts, in the order of `order`
	bound            []field.QM31   // eq of the rows at their challenges, once these are known
	fromRow, fromCol int            // the rounds in which the sum joins, and goes on to columns
}

// newLayout returns the layout for steps of a shape, for a tree that ends at z. It does not set
// fromRow and fromCol.
func newLayout(shape []int, z []field.QM31) *layout {
	rows, columns := split(shape)
	l := &layout{rows: rows, columns: columns, vars: model.Vars(shape), rowVars: model.Vars(rows), parts: model.Cut(columns), rowParts: model.Cut(rows)}
	for _, parts := range l.parts {
		w := poly.EqTable(z[len(z)-model.PartBits(parts):])
		l.weights, l.inOrder = append(l.weights, w), append(l.inOrder, w...)
		each(parts, columns, dense, func(_, at, n int) {
			for i := range n {
				l.order = append(l.order, at+i)
			}
		})
		l.ends = append(l.ends, len(l.order))
	}
	return l
}

// sum is the state of the sum over one step between rounds.
type sum struct {
	*layout
	step    *backend.LeafStep
	column  backend.Column
	factors [][]field.QM31 // F_p, as tables over the rows with their axes padded; nil from overRows on

	// claim is the value of the sum, and scale Π (1 − r_j) over the rounds before it joined.
	claim, scale field.QM31
	pairs        []pair     // what is left of the sum is Σ of the products of these tables
	zero, top    field.QM31 // of the current round, without scale: the value at 0 and the leading coefficient
}

// pair are two tables of a power-of-two length.
type pair struct{ a, b []field.QM31 }

func newSum(l *layout, step *backend.LeafStep, z []field.QM31, beta field.QM31) *sum {
	s := &sum{layout: l, step: step, column: backend.Column{Step: step.Step, Rows: model.Size(l.rows), Beta: beta}}
	for p := range l.parts {
		s.factors = append(s.factors, s.factor(p, z))
	}
	return s
}

// split divides the axes of a shape into rows and columns (model.Splits). It takes the
// division whose tables have the fewest entries in all: one table over the rows for each part
// of the columns, and one over the columns. An entry of a table over rows counts three
// times, because it costs two sums of integers.
func split(shape []int) (rows, columns []int) {
	columns = shape
	least := 3*model.Blocks(shape) + 1<<model.Vars(shape)
	for r, c := range model.Splits(shape) {
		if n := 3*model.Blocks(c)<<model.Vars(r) + 1<<model.Vars(c); n < least {
			rows, columns, least = r, c, n
		}
	}
	return rows, columns
}

// factor returns the table F_p. Each part of the rows together with part p of the columns is a
// block of the step. The last bits of a leaf's index in the tree number the column, the bits before
// them the row, and the first bits are the place of the block. F_p is eq, at the coordinates of z,
// for the latter two.
func (s *sum) factor(p int, z []field.QM31) []field.QM31 {
	f := make([]field.QM31, 1<<s.rowVars)
	for i, parts := range s.rowParts {
		b := &s.step.Blocks[i*len(s.parts)+p]
		w := make([]field.QM31, 1<<model.PartBits(parts))
		high := len(z) - b.Bits
		field.EqTableInto(w, z[high:high+model.PartBits(parts)], poly.EqIndex(z[:high], uint64(b.Offset>>b.Bits)))
		each(parts, s.rows, padded, func(from, at, n int) { copy(f[at:at+n], w[from:from+n]) })
	}
	return f
}

// each calls f for every run of neighbouring entries of a block (parts has its part of each axis).
// Entries from … from + n − 1 of the block are entries at … at + n − 1 of a table over the shape, in
// which the axes have the strides that the function `strides` returns.
func each(parts []model.Part, shape []int, strides func([]int) []int, f func(from, at, n int)) {
	step := strides(shape)
	run := 1
	if n := len(parts); n > 0 {
		run = 1 << parts[n-1].Bits
	}
	for from := 0; from < 1<<model.PartBits(parts); from += run {
		at, rest := 0, from
		for a := len(parts) - 1; a >= 0; a-- {
			at += (parts[a].Start + rest&(1<<parts[a].Bits-1)) * step[a]
			rest >>= parts[a].Bits
		}
		f(from, at, run)
	}
}

// dense returns the strides of the axes of a dense, row-major tensor.
func dense(shape []int) []int {
	return strides(shape, func(d int) int { return d })
}

// padded returns the strides of a table whose axes are padded to powers of two.
func padded(shape []int) []int {
	return strides(shape, func(d int) int { return 1 << model.Log2Ceil(d) })
}

// strides returns the strides of row-major axes, if an axis of dimension d takes length(d) entries.
func strides(shape []int, length func(d int) int) []int {
	s, n := make([]int, len(shape)), 1
	for a := len(shape) - 1; a >= 0; a-- {
		s[a] = n
		n *= length(shape[a])
	}
	return s
}

// rowSum describes the pass over the step's integers that gives all G_p.
func (s *sum) rowSum() backend.RowSum {
	return backend.RowSum{Column: s.column, Order: s.order, Ends: s.ends, Weights: s.inOrder}
}

// overRows takes all G_p, with G_p(x) at x·(number of parts) + p of sums, and starts the sum over
// rows.
func (s *sum) overRows(sums []field.QM31) {
	n := len(s.parts)
	for p := range s.parts {
		g := make([]field.QM31, 0, len(sums)/n)
		for i := p; i < len(sums); i += n {
			g = append(g, sums[i])
		}
		s.pairs = append(s.pairs, pair{s.factors[p], poly.PadTable(g, s.rows)})
	}
	s.factors = nil
	for _, p := range s.pairs {
		s.claim = s.claim.Add(field.Dot(p.a, p.b))
	}
}

// bind computes l.bound, the weights of the rows when all row variables are bound to point.
func (l *layout) bind(point []field.QM31) {
	if l.bound == nil {
		l.bound = poly.OuterEq(l.rows, poly.SplitAxes(l.rows, point))
	}
}

// columnSum describes the pass over the step's integers that binds the rows of C to their
// challenges.
func (s *sum) columnSum() backend.ColumnSum {
	return backend.ColumnSum{Column: s.column, Weights: s.bound}
}

// overColumns takes the result of columnSum and starts the sum over columns, e(y)·C(y) with
// e = Σ_p F_p·e_p. All row variables are bound by then, so that each F_p is one value.
func (s *sum) overColumns(column []field.QM31) {
	e := make([]field.QM31, 1<<(s.vars-s.rowVars))
	for p, parts := range s.parts {
		f := s.pairs[p].a[0]
		each(parts, s.columns, padded, func(from, at, n int) { field.MulAccQM31Vec(e[at:at+n], s.weights[p][from:from+n], f) })
	}
	s.pairs = []pair{{e, poly.PadTable(column, s.columns)}}
}

// sums computes zero and top for a round.
func (s *sum) sums() {
	s.zero, s.top = field.Zero, field.Zero
	for _, p := range s.pairs {
		h := len(p.a) / 2
		z, t := field.RoundSums(field.Halves{Lo: p.a[:h], Hi: p.a[h:]}, field.Halves{Lo: p.b[:h], Hi: p.b[h:]})
		s.zero, s.top = s.zero.Add(z), s.top.Add(t)
	}
}

// entries returns the number of entries of all tables in s.pairs.
func (s *sum) entries() int {
	n := 0
	for _, p := range s.pairs {
		n += 2 * len(p.a)
	}
	return n
}

// fold binds the round's variable.
func (s *sum) fold(r field.QM31) {
	for i := range s.pairs {
		p := &s.pairs[i]
		h := len(p.a) / 2
		field.FoldVec(p.a[:h], p.a, r)
		field.FoldVec(p.b[:h], p.b, r)
		p.a, p.b = p.a[:h], p.b[:h]
	}
}

// Sizes returns how a step of a shape is split: rows and columns, and the parts that the
// columns are cut into.
func Sizes(shape []int) (rows, columns, parts int) {
	r, c := split(shape)
	return model.Size(r), model.Size(c), len(model.Cut(c))
}
