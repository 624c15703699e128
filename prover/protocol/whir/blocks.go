package whir

import (
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// blockFunctional is the functional in aligned blocks of columns.
type blockFunctional struct {
	q     *Functional
	width int // of a block, a power of two
	cuts  []blockCut
}

// blockCut says how a part lies in blocks: the first `high` coordinates of Low number
// them, block (first column)/width + h·step being the h-th, and the others its columns.
type blockCut struct{ high, step int }

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

// blockRows is what a blockFunctional has of every step-th row from number first on,
// first < step: for each block of columns, the parts that meet it there. Looking
// through all parts for every block would take longer than all else.
type blockRows struct {
	*blockFunctional
	first, step int
	parts       []rowPart
	ends        []int // by block, of its entries
	entries     []blockEntry
}

// rowPart is a part of the functional that meets one of the rows, in row skip of its own
// and every step-th after that.
type rowPart struct {
	*Part
	blockCut
	skip    int
	weights []field.QM31 // eq of the coordinates that number blocks
}

// blockEntry is a part by its number among those of the rows, with weights[high] of it.
type blockEntry struct{ part, high int32 }

// rows returns what there is of every step-th row from number first on.
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
	// Placing a block's entries moves where it begins to where it ends.
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

// each calls f for the rows of r that the part is in, by their number among them, with its
// weight there.
func (r *blockRows) each(p *rowPart, f func(at int, weight field.QM31)) {
	for b := p.skip; b < len(p.RowWeights); b += r.step {
		f((p.FirstRow+b)/r.step, p.RowWeights[b])
	}
}

// low returns the weights of a part's columns in a block, in the given room if they fit.
func (p *rowPart) low(room []field.QM31) []field.QM31 {
	own := p.Low[p.high:]
	if cap(room) < 1<<len(own) {
		room = make([]field.QM31, 1<<len(own))
	}
	room = room[:1<<len(own)]
	field.EqTableInto(room, own, field.One)
	return room
}

// lowTables keeps the weights of columns of those parts that are in several blocks.
type lowTables struct {
	rows *blockRows
	kept [][]field.QM31 // by part of the rows
	room []field.QM31
}

func newLowTables(r *blockRows) *lowTables {
	return &lowTables{r, make([][]field.QM31, len(r.parts)), make([]field.QM31, r.width)}
}

// of returns the weights of a part's columns, until the next call.
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

// eachBlock calls f for the rows and blocks of a range of row·blocks + block: begin with each
// new row, and block with every block of it.
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
