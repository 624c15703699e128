package whir

import (
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// blockFunctional is a functional whose rows are cut into blocks: block k of a row
// is its columns k·width … (k+1)·width − 1.
type blockFunctional struct {
	q     *Functional
	width int        // columns of a block, a power of two
	cuts  []blockCut // by part of q
}

// blockCut says which blocks a [Part] reaches into. The first `high` coordinates of
// Part.Low number these blocks: the h-th is block Column/width + h·step of the row.
// The other coordinates number the part's columns within a block.
type blockCut struct{ high, step int }

// newBlockFunctional cuts q into blocks of the given width, a power of two and at most the length of a row.
func newBlockFunctional(q *Functional, width int) *blockFunctional {
	f := &blockFunctional{q, width, make([]blockCut, len(q.Parts))}
	for i := range q.Parts {
		p := &q.Parts[i]
		high := 0
		for high < len(p.Low) && p.Span()>>high > width {
			high++
		}
		f.cuts[i] = blockCut{high, max(1, p.Span()>>high/width)}
	}
	return f
}

// blocks returns the number of blocks of a row.
func (f *blockFunctional) blocks() int { return 1 << f.q.RowVars / f.width }

// blockRows is an index of the table rows first, first + step, first + 2·step, …, with
// first < step. It lists, for each block of columns, the parts of the functional that
// reach into the block in one of these rows. Looking through all parts for every
// block would take longer than everything else.
type blockRows struct {
	*blockFunctional
	first, step int
	parts       []rowPart    // those that have one of the rows
	ends        []int        // the entries of block k end before entries[ends[k]]
	entries     []blockEntry // of all blocks, in the order of the blocks
}

// rowPart is a part of the functional that has one of the rows of a blockRows. These
// are its rows skip, skip + step, …, counted from Part.FirstRow.
type rowPart struct {
	*Part
	blockCut
	skip    int
	weights []field.QM31 // eq table of the coordinates that number blocks
}

// blockEntry says that parts[part] of a blockRows reaches into a block, as the high-th
// of the part's blocks, and so with the factor weights[high].
type blockEntry struct{ part, high int32 }

// rows returns the index of every step-th row from number first on.
func (f *blockFunctional) rows(first, step int) *blockRows {
	r := &blockRows{blockFunctional: f, first: first, step: step, ends: make([]int, f.blocks()+1)}
	for i := range f.q.Parts {
		p := &f.q.Parts[i]
		if skip := (first - p.FirstRow%step + step) % step; skip < len(p.RowWeights) {
			r.parts = append(r.parts, rowPart{p, f.cuts[i], skip, poly.EqTable(p.Low[:f.cuts[i].high])})
		}
	}
	each := func(visit func(block int, e blockEntry)) {
		for i := range r.parts {
			p := &r.parts[i]
			for h := range p.weights {
				visit(p.Column/f.width+h*p.step, blockEntry{int32(i), int32(h)})
			}
		}
	}
	each(func(block int, _ blockEntry) { r.ends[block+1]++ })
	for k := range r.ends[1:] {
		r.ends[k+1] += r.ends[k]
	}
	r.entries = make([]blockEntry, r.ends[len(r.ends)-1])
	// Here ends[block] is where the entries of the block begin. Each entry that is placed
	// moves it up by one, so that in the end it is where they end.
	each(func(block int, e blockEntry) {
		r.entries[r.ends[block]] = e
		r.ends[block]++
	})
	return r
}

// block returns the entries of block k.
func (r *blockRows) block(k int) []blockEntry {
	from := 0
	if k > 0 {
		from = r.ends[k-1]
	}
	return r.entries[from:r.ends[k]]
}

// each calls f for those rows of r that the part has: with the row's number among the rows
// of r, and with the part's weight on that row.
func (r *blockRows) each(p *rowPart, f func(at int, weight field.QM31)) {
	for b := p.skip; b < len(p.RowWeights); b += r.step {
		f((p.FirstRow+b)/r.step, p.RowWeights[b])
	}
}

// low returns the weights of a part's columns within one block, the same in each of its
// blocks: an eq table. It is made in the given room if it fits.
func (p *rowPart) low(room []field.QM31) []field.QM31 {
	own := p.Low[p.high:]
	if cap(room) < 1<<len(own) {
		room = make([]field.QM31, 1<<len(own))
	}
	room = room[:1<<len(own)]
	field.EqTableInto(room, own, field.One)
	return room
}

// lowTables makes the tables of [rowPart.low]. It keeps those of parts that are in several
// blocks, so that each of these tables is made once.
type lowTables struct {
	rows *blockRows
	kept [][]field.QM31 // by part of the rows; nil if not made yet
	room []field.QM31   // for the table of a part that is in one block
}

func newLowTables(r *blockRows) *lowTables {
	return &lowTables{r, make([][]field.QM31, len(r.parts)), make([]field.QM31, r.width)}
}

// of returns the weights of a part's columns within a block. They are valid until the next
// call.
func (t *lowTables) of(part int32) []field.QM31 {
	p := &t.rows.parts[part]
	if p.high == 0 {
		return p.low(t.room)
	}
	if t.kept[part] == nil {
		t.kept[part] = p.low(nil)
	}
	return t.kept[part]
}

// eachBlock goes through the items from … to−1 of a list that has, for every first row
// 0 … step−1, all blocks: item first·blocks + k is block k of the rows first, first + step, ….
// It calls begin once for each new set of rows, and then block for every block of it.
func (f *blockFunctional) eachBlock(step, from, to int, begin func(r *blockRows), block func(r *blockRows, k int)) {
	var r *blockRows
	for i := from; i < to; i++ {
		row, k := i/f.blocks(), i%f.blocks()
		if r == nil || r.first != row {
			r = f.rows(row, step)
			begin(r)
		}
		block(r, k)
	}
}
