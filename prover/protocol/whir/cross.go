package whir

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/bytedot"
	"github.com/prove-model/prove-model/prover/math/field"
)

// This file computes the grid (grid.go) from inner products of rows. There are n = 2^w long
// rows of the stack and n of the functional. Every value of g is a linear combination of the
// n² inner products of a row of the stack with one of the functional. That is more products
// than recursiveGrid computes. But these are sums of bytes times elements of K (package
// bytedot), and a product of that kind takes a tenth of the time of one in the field. Besides,
// the functional's rows are never written out: the stack's rows are multiplied with the eq
// table of each part.

const (
	// crossColumns is how many columns are taken at a time. The table of their weights has 16
	// bytes a column, and stays in the first-level cache.
	crossColumns = 1 << 11
	// minBlockVars is log2 of the number of columns that bytedot's tables come in multiples of.
	minBlockVars = 2
)

// crossGrid computes productGrid from the inner products of all pairs of long rows.
func crossGrid(stack *stackRows, vars int, q *Functional) grid {
	n := 1 << vars
	total := make([]field.QM31, n*n) // at h'·n + h, the product of row h of the stack and row h' of the functional
	f := newBlockFunctional(q, min(1<<q.RowVars, crossColumns))
	longRow := len(stack.rows) >> vars
	parallel.Collect(longRow*f.blocks(), 1, func(from, to int) func() {
		c := newCrossBlock(n, f.width)
		f.eachBlock(longRow, from, to, c.begin, func(r *blockRows, k int) { c.add(stack, r, k) })
		return func() { field.AddQM31Vec(total, total, c.sums) }
	})
	g := newGrid(vars)
	crossed(g.values, total)
	return g
}

// crossed sets out, a grid table, to the values of Σ_{h,h'} λ_h(X)·λ_h'(X)·c[h'·n+h], where
// λ_h(X) = eq(h, X) is multilinear, 1 at h and 0 at the other points of {0,1}^w. It sets one
// variable after the other, from the first. At 0 or 1 those pairs (h, h') remain in which both
// have this bit. At ∞ there is the leading coefficient c_00 + c_11 − c_01 − c_10, where the
// indexes are the two bits of h and h'.
func crossed(out, c []field.QM31) {
	if len(c) == 1 {
		out[0] = c[0]
		return
	}
	n := 1
	for n*n < len(c) {
		n *= 2
	}
	h := n / 2
	at0, at1, atInf := thirds(out)
	first, last, both := make([]field.QM31, h*h), make([]field.QM31, h*h), make([]field.QM31, h*h)
	for i := range h {
		for j := range h {
			a, b := c[i*n+j], c[(h+i)*n+h+j]
			first[i*h+j], last[i*h+j] = a, b
			both[i*h+j] = a.Add(b).Sub(c[i*n+h+j]).Sub(c[(h+i)*n+j])
		}
	}
	crossed(at0, first)
	crossed(at1, last)
	crossed(atInf, both)
}

// crossBlock adds up, block by block, the inner products of n rows of the stack and n of
// the functional.
type crossBlock struct {
	n, width int          // rows, and columns of a block
	sums     []field.QM31 // the products so far: of row h of the stack and row h' of the functional at h'·n + h
	rows     *blockRows
	tables   []crossTable // by part of the rows: the packed weights of parts in several blocks, kept
	one      crossTable   // the packed weights of a part in one block, until the next such part
	low      []field.QM31 // room for a part's weights
	spread   []field.QM31 // room for the same, with zeros in columns that are not the part's

	// What follows is of the block at hand.
	values         []int32      // room for the values of one row of the stack
	room           [][]int8     // room for planes of bytes (bytedot.Split), of which the first `split` are in use
	split          int          // see room
	planes         [][]int8     // the planes of all rows of the stack
	of             []planeOf    // by plane: whose it is
	packed         [][]byte     // the planes, bytedot.MaxRows in each element
	byPlane, byRow []field.QM31 // products of a part with the planes of one element of packed, and with the rows
}

// planeOf says that a plane has the digits of that place, the multiples of 256^place, of a row.
type planeOf struct{ row, place int }

// crossTable is a part's weights in columns [at, at + len(bytes)/16) of a block, packed by
// bytedot.Pack.
type crossTable struct {
	at    int
	bytes []byte
}

func newCrossBlock(n, width int) *crossBlock {
	return &crossBlock{
		n: n, width: width, sums: make([]field.QM31, n*n),
		values: make([]int32, width), low: make([]field.QM31, width), spread: make([]field.QM31, width),
		byPlane: make([]field.QM31, bytedot.MaxRows), byRow: make([]field.QM31, n), one: crossTable{bytes: make([]byte, 0, bytedot.TableBytes(width))},
	}
}

// begin goes over to other rows: the tables of the parts of those before are dropped.
func (c *crossBlock) begin(r *blockRows) {
	c.rows, c.tables = r, make([]crossTable, len(r.parts))
}

// add adds to the sums what the columns of block k contribute to the products of the rows.
func (c *crossBlock) add(stack *stackRows, r *blockRows, k int) {
	entries := r.block(k)
	if len(entries) == 0 || !c.load(stack, r, k) {
		return
	}
	for _, e := range entries {
		p := &r.parts[e.part]
		t := c.table(e.part, p)
		clear(c.byRow)
		for i := range c.packed {
			from := bytedot.TableBytes(t.at)
			of := c.of[i*bytedot.MaxRows : min((i+1)*bytedot.MaxRows, len(c.of))]
			bytedot.Sums(c.byPlane[:len(of)], c.packed[i][from:from+len(t.bytes)], t.bytes)
			for j, of := range of {
				c.byRow[of.row] = c.byRow[of.row].Add(c.byPlane[j].MulM31(bytedot.Place(of.place)))
			}
		}
		r.each(p, func(at int, weight field.QM31) {
			field.MulAccQM31Vec(c.sums[at*c.n:(at+1)*c.n], c.byRow, weight.Mul(p.weights[e.high]))
		})
	}
}

// load gathers and packs the planes of block k of the stack's rows. It returns false if there
// are none, because all values there are zero.
func (c *crossBlock) load(stack *stackRows, r *blockRows, k int) bool {
	c.planes, c.of, c.split = c.planes[:0], c.of[:0], 0
	for h := range c.n {
		if !stack.fill(r.first+h*r.step, k*c.width, c.values) {
			continue
		}
		for place, plane := range bytedot.Split(c.values, c.plane) {
			c.planes, c.of = append(c.planes, plane), append(c.of, planeOf{h, place})
		}
	}
	c.packed = packPlanes(c.packed, c.planes, c.width)
	return len(c.planes) > 0
}

// plane returns room for another plane of the block.
func (c *crossBlock) plane() []int8 {
	if c.split == len(c.room) {
		c.room = append(c.room, make([]int8, c.width))
	}
	c.split++
	return c.room[c.split-1]
}

// packPlanes packs planes of the given width, MaxRows of them in each element of the result.
// It reuses the memory of packed, an earlier result for the same width.
func packPlanes(packed [][]byte, planes [][]int8, width int) [][]byte {
	n := (len(planes) + bytedot.MaxRows - 1) / bytedot.MaxRows
	for cap(packed) < n {
		packed = append(packed[:cap(packed)], make([]byte, bytedot.TableBytes(width)))
	}
	packed = packed[:n]
	for i := range packed {
		if packed[i] == nil {
			packed[i] = make([]byte, bytedot.TableBytes(width))
		}
		bytedot.PackRows(packed[i], planes[i*bytedot.MaxRows:min((i+1)*bytedot.MaxRows, len(planes))])
	}
	return packed
}

// table returns the packed weights of part `number` within a block.
func (c *crossBlock) table(number int32, p *rowPart) crossTable {
	if p.high == 0 {
		c.one = c.pack(p, c.one.bytes)
		return c.one
	}
	t := &c.tables[number]
	if t.bytes == nil {
		*t = c.pack(p, nil)
	}
	return *t
}

// pack packs a part's weights within a block, in the given room if they fit. The table covers
// the part's columns and, as bytedot wants whole groups of 2^minBlockVars columns, those
// around them. Columns that are not the part's have weight 0.
func (c *crossBlock) pack(p *rowPart, room []byte) crossTable {
	low := p.low(c.low)
	first := p.Column % c.width
	n := len(low) << p.Stride
	if len(low) == 1 {
		n = 1
	}
	n = max(n, 1<<minBlockVars)
	t := crossTable{at: first &^ (n - 1)}
	if n != len(low) {
		clear(c.spread[:n])
		for i, v := range low {
			c.spread[first-t.at+i<<p.Stride] = v
		}
		low = c.spread[:n]
	}
	if size := bytedot.TableBytes(n); cap(room) < size {
		t.bytes = make([]byte, size)
	} else {
		t.bytes = room[:size]
	}
	bytedot.Pack(t.bytes, low)
	return t
}
