package whir

import (
	"slices"

	"github.com/prove-model/prove-model/prover/arena"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/poly"
)

// Functional is Q cut into table rows of 2^RowVars values: a sum of parts, each the
// product of weights on a range of rows and an eq table on some columns of every
// one of them.
type Functional struct {
	RowVars int
	Parts   []Part
}

// Part is a [Term] as table rows see it: on row FirstRow + b it is RowWeights[b] times
// entry i of eq(Low, ·) on column Column + i·2^Stride, which is within the Span columns
// that begin at the multiple of Span below Column. The number of rows is a power of
// two; if it is not 1, a part covers whole rows.
type Part struct {
	FirstRow   int
	RowWeights []field.QM31
	Column     int
	Stride     int
	Low        []field.QM31
}

// Span returns the number of columns that a part is spread over.
func (p *Part) Span() int { return 1 << (len(p.Low) + p.Stride) }

// functional returns the functional of the statement.
func (s *statement) functional() *Functional {
	q := &Functional{s.params.RowVars(), make([]Part, len(s.terms))}
	for i := range s.terms {
		q.Parts[i] = s.part(&s.terms[i])
	}
	return q
}

// part returns a term as table rows see it. Of the coordinates that number values
// of a table row, those that number its parts come behind those of the columns, and
// in reverse.
func (s *statement) part(t *Term) Part {
	row, longs, offset := s.place(t)
	rowVars, shift := s.layouts[t.Tree].RowVars, s.shift(t.Tree)
	low := t.Point[longs:]
	parts := max(0, len(low)-rowVars)
	own := slices.Clone(low[parts:])
	for i := range parts {
		own = append(own, low[parts-1-i])
	}
	p := Part{
		FirstRow:   int(row),
		RowWeights: make([]field.QM31, 1<<longs),
		Column:     column(offset>>rowVars, offset&(1<<rowVars-1), shift),
		Stride:     shift - parts,
		Low:        own,
	}
	field.EqTableInto(p.RowWeights, t.Point[:longs], t.Coef)
	return p
}

// folded returns the functional on what long rows fold to with these weights: a
// table of rows that goes with [stackRows.fold], row l of which is
// Σ_h weights[h]·(row h·n + l of the functional), n = rows/len(weights).
func (q *Functional) folded(a *arena.Arena, weights []field.QM31, rows int) []field.QM31 {
	n := rows / len(weights)
	table := arena.Zeros[field.QM31](a, n<<q.RowVars)
	lists := q.byRow(weights, n)
	parallel.For(n, 1, func(from, to int) {
		f := foldedRow{q: q, low: make([]field.QM31, 1<<eqLowVars), high: make([]field.QM31, 1<<max(0, q.RowVars-eqLowVars))}
		for l := from; l < to; l++ {
			f.make(table[l<<q.RowVars:(l+1)<<q.RowVars], lists[l])
		}
	})
	return table
}

// scaled is a part of the functional, times a coefficient in place of its row weights.
type scaled struct {
	part int
	coef field.QM31
}

// byRow lists what each row of a folded table is the sum of.
func (q *Functional) byRow(weights []field.QM31, n int) [][]scaled {
	lists := make([][]scaled, n)
	coefs := make([]field.QM31, n)
	for i := range q.Parts {
		p := &q.Parts[i]
		clear(coefs)
		for b, w := range p.RowWeights {
			b += p.FirstRow
			coefs[b%n] = coefs[b%n].Add(w.Mul(weights[b/n]))
		}
		// A part covers a range of rows, so it begins anew in row firstRow mod n.
		for b := range min(n, len(p.RowWeights)) {
			l := (p.FirstRow + b) % n
			lists[l] = append(lists[l], scaled{i, coefs[l]})
		}
	}
	return lists
}

// foldedRow makes one row of a folded table after the other.
type foldedRow struct {
	q         *Functional
	low, high []field.QM31
	// strided has, for each stride but 0, the columns that lie that far apart side by
	// side: those of each remainder, one after the other.
	strided [][]field.QM31
	used    []bool
}

func (f *foldedRow) make(row []field.QM31, list []scaled) {
	clear(f.used)
	for _, s := range list {
		p := &f.q.Parts[s.part]
		dst := row[p.Column:]
		if p.Stride > 0 {
			dst = f.columns(p.Stride)[p.Column&(1<<p.Stride-1)<<(f.q.RowVars-p.Stride)+p.Column>>p.Stride:]
		}
		f.addEq(dst, p.Low, s.coef)
	}
	for stride, used := range f.used {
		if !used {
			continue
		}
		each := len(row) >> stride
		for r := range 1 << stride {
			for i, v := range f.strided[stride][r*each:][:each] {
				at := &row[i<<stride+r]
				*at = at.Add(v)
			}
		}
	}
}

// columns returns the columns of the row, zero at first, that lie 2^stride apart.
func (f *foldedRow) columns(stride int) []field.QM31 {
	for len(f.strided) <= stride {
		f.strided, f.used = append(f.strided, nil), append(f.used, false)
	}
	if f.strided[stride] == nil {
		f.strided[stride] = make([]field.QM31, 1<<f.q.RowVars)
	} else if !f.used[stride] {
		clear(f.strided[stride])
	}
	f.used[stride] = true
	return f.strided[stride]
}

// eqLowVars is how many variables an eq table is added with at once.
const eqLowVars = 9

// addEq sets dst[i] += coef·eq(r, i) for 2^len(r) entries.
func (f *foldedRow) addEq(dst []field.QM31, r []field.QM31, coef field.QM31) {
	vars := min(len(r), eqLowVars)
	head := r[:len(r)-vars]
	low, high := f.low[:1<<vars], f.high[:1<<len(head)]
	field.EqTableInto(low, r[len(head):], field.One)
	field.EqTableInto(high, head, coef)
	for h, c := range high {
		field.MulAccQM31Vec(dst[h*len(low):][:len(low)], low, c)
	}
}

// mulAcc sets dst[i·2^stride] += a[i]·c, for at most 2^eqLowVars entries.
func mulAcc(dst []field.QM31, stride int, a []field.QM31, c field.QM31) {
	if stride == 0 {
		field.MulAccQM31Vec(dst[:len(a)], a, c)
		return
	}
	var products [1 << eqLowVars]field.QM31
	p := products[:len(a)]
	field.MulAccQM31Vec(p, a, c)
	for i, v := range p {
		dst[i<<stride] = dst[i<<stride].Add(v)
	}
}

// blockFunctional gives the functional's values on aligned blocks of columns,
// all rows at once.
type blockFunctional struct {
	q     *Functional
	width int
	parts []blockPart
}

// blockPart is a part's eq table in the form high ⊗ low: block number
// (first column)/width + h·step has low times high[h], and the others nothing.
type blockPart struct {
	high, low []field.QM31
	step      int
}

func newBlockFunctional(q *Functional, width int) *blockFunctional {
	b := &blockFunctional{q, width, make([]blockPart, len(q.Parts))}
	parallel.For(len(q.Parts), 1, func(from, to int) {
		for i := from; i < to; i++ {
			p := &q.Parts[i]
			cut := 0 // coordinates that number blocks
			for cut < len(p.Low) && p.Span()>>cut > width {
				cut++
			}
			b.parts[i] = blockPart{poly.EqTable(p.Low[:cut]), poly.EqTable(p.Low[cut:]), max(1, p.Span()>>cut/width)}
		}
	})
	return b
}

// blockRows is what a blockFunctional has of every step-th row from number first on,
// first < step: for each block of columns, the parts that meet it there. Looking
// through all parts for every block would take longer than all else.
type blockRows struct {
	*blockFunctional
	first, step int
	ends        []int // by block, of its entries
	entries     []blockEntry
}

// blockEntry is the part of that number, with the weight high[high] of the block.
type blockEntry struct{ part, high int32 }

// rows returns what there is of every step-th row from number first on.
func (f *blockFunctional) rows(first, step int) *blockRows {
	r := &blockRows{blockFunctional: f, first: first, step: step, ends: make([]int, 1<<f.q.RowVars/f.width+1)}
	each := func(visit func(block int, e blockEntry)) {
		for i := range f.parts {
			p, t := &f.q.Parts[i], &f.parts[i]
			if r.skip(p) < len(p.RowWeights) {
				for h := range t.high {
					visit(p.Column/f.width+h*t.step, blockEntry{int32(i), int32(h)})
				}
			}
		}
	}
	each(func(block int, _ blockEntry) { r.ends[block+1]++ })
	for k := range r.ends[1:] {
		r.ends[k+1] += r.ends[k]
	}
	r.entries = make([]blockEntry, r.ends[len(r.ends)-1])
	// Placing a block's entries moves where it begins to where it ends.
	each(func(block int, e blockEntry) {
		r.entries[r.ends[block]] = e
		r.ends[block]++
	})
	return r
}

// skip returns the first of a part's rows that is one of r's, if that is below the
// number of its rows.
func (r *blockRows) skip(p *Part) int { return (r.first - p.FirstRow%r.step + r.step) % r.step }

// fill sets the rows of dst in use to block number k.
func (r *blockRows) fill(dst *sparseRows[field.QM31], k int) {
	clear(dst.live)
	from := 0
	if k > 0 {
		from = r.ends[k-1]
	}
	for _, e := range r.entries[from:r.ends[k]] {
		p, t := &r.q.Parts[e.part], &r.parts[e.part]
		for b := r.skip(p); b < len(p.RowWeights); b += r.step {
			at := (p.FirstRow + b) / r.step
			row := dst.row(at)
			if !dst.live[at] {
				dst.live[at] = true
				clear(row)
			}
			mulAcc(row[p.Column%r.width:], p.Stride, t.low, p.RowWeights[b].Mul(t.high[e.high]))
		}
	}
}
