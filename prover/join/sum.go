package join

import (
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
)

// sum is the sum over one step, on its way through the rounds.
type sum struct {
	step          *backend.LeafStep
	column        backend.Column
	rows, columns []int // the axes that number rows and columns
	vars, rowVars int
	parts         [][]model.Part // that the columns are cut into
	weights       [][]field.QM31 // e_p, in the order of a part's own index
	factors       [][]field.QM31 // F_p, with the axes padded

	claim, scale field.QM31
	pairs        []pair // the sum is that of their products
}

// pair are two tables of a power-of-two length.
type pair struct{ a, b []field.QM31 }

func newSum(step *backend.LeafStep, shape []int, z []field.QM31, beta field.QM31) *sum {
	at := split(shape)
	s := &sum{step: step, column: backend.Column{Step: step.Step, Split: at, Beta: beta}, rows: shape[:at], columns: shape[at:],
		vars: model.Vars(shape), rowVars: model.Vars(shape[:at]), parts: model.Cut(shape[at:])}
	for p, parts := range s.parts {
		low := z[len(z)-model.PartBits(parts):]
		s.weights = append(s.weights, poly.EqTable(low))
		s.factors = append(s.factors, s.factor(p, z))
	}
	return s
}

// split chooses the axis before which the axes number rows: that with the smallest
// tables in all.
func split(shape []int) int {
	best, least := 0, 0
	for at := range len(shape) + 1 {
		n := model.Blocks(shape[at:])<<model.Vars(shape[:at]) + 1<<model.Vars(shape[at:])
		if at == 0 || n < least {
			best, least = at, n
		}
	}
	return best
}

// factor returns F_p. Where a row and part p meet is a block of the step.
func (s *sum) factor(p int, z []field.QM31) []field.QM31 {
	f := make([]field.QM31, 1<<s.rowVars)
	for i := p; i < len(s.step.Blocks); i += len(s.parts) {
		b := &s.step.Blocks[i]
		own := b.Parts[:len(s.rows)]
		bits := model.PartBits(own)
		w := make([]field.QM31, 1<<bits)
		high := len(z) - b.Bits
		field.EqTableInto(w, z[high:high+bits], poly.EqIndex(z[:high], uint64(b.Offset>>b.Bits)))
		place(f, s.rows, own, w, field.One)
	}
	return f
}

// place adds scale·values to a block of a table in which the axes are padded.
func place(table []field.QM31, shape []int, parts []model.Part, values []field.QM31, scale field.QM31) {
	run := 1 // entries that lie next to each other in both
	if n := len(parts); n > 0 {
		run = 1 << parts[n-1].Bits
	}
	for i := 0; i < len(values); i += run {
		at, rest, shift := 0, i, 0
		for a := len(shape) - 1; a >= 0; a-- {
			at |= (parts[a].Start + rest&(1<<parts[a].Bits-1)) << shift
			rest >>= parts[a].Bits
			shift += model.Log2Ceil(shape[a])
		}
		field.MulAccQM31Vec(table[at:at+run], values[i:i+run], scale)
	}
}

// rowSum asks for G_p.
func (s *sum) rowSum() backend.RowSum {
	job := backend.RowSum{Column: s.column}
	for p, parts := range s.parts {
		job.Order = appendDense(job.Order, s.columns, parts)
		job.Ends = append(job.Ends, len(job.Order))
		job.Weights = append(job.Weights, s.weights[p]...)
	}
	return job
}

// appendDense appends the dense indexes of a block's entries, in the block's order.
func appendDense(list []int, shape []int, parts []model.Part) []int {
	for i := range 1 << model.PartBits(parts) {
		at, rest, stride := 0, i, 1
		for a := len(shape) - 1; a >= 0; a-- {
			at += (parts[a].Start + rest&(1<<parts[a].Bits-1)) * stride
			rest >>= parts[a].Bits
			stride *= shape[a]
		}
		list = append(list, at)
	}
	return list
}

// overRows takes G_p and begins the sum over rows.
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

// columnSum asks for C bound to the rows' challenges.
func (s *sum) columnSum(point []field.QM31) backend.ColumnSum {
	return backend.ColumnSum{Column: s.column, Weights: poly.OuterEq(s.rows, poly.SplitAxes(s.rows, point))}
}

// overColumns takes that and begins the sum over columns. All of the rows'
// variables are bound.
func (s *sum) overColumns(column []field.QM31) {
	e := make([]field.QM31, 1<<(s.vars-s.rowVars))
	for p, parts := range s.parts {
		place(e, s.columns, parts, s.weights[p], s.pairs[p].a[0])
	}
	s.pairs = []pair{{e, poly.PadTable(column, s.columns)}}
}

// sums returns the value at 0 and the leading coefficient of a round.
func (s *sum) sums() (zero, top field.QM31) {
	for _, p := range s.pairs {
		h := len(p.a) / 2
		z, t := field.RoundSums(field.Halves{Lo: p.a[:h], Hi: p.a[h:]}, field.Halves{Lo: p.b[:h], Hi: p.b[h:]})
		zero, top = zero.Add(z), top.Add(t)
	}
	return zero, top
}

// fold binds the round's variable.
func (s *sum) fold(r field.QM31) {
	for i := range s.pairs {
		p := &s.pairs[i]
		h := len(p.a) / 2
		field.FoldHalves(p.a[:h], field.Halves{Lo: p.a[:h], Hi: p.a[h:]}, r)
		field.FoldHalves(p.b[:h], field.Halves{Lo: p.b[:h], Hi: p.b[h:]}, r)
		p.a, p.b = p.a[:h], p.b[:h]
	}
}
