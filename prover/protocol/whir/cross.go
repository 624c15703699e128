package whir

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/bytedot"
	"github.com/prove-model/prove-model/prover/math/field"
)

// The grid by way of the products of every long row of the stack with every one of the
// functional, n² of them for n = 2^w: g is a combination of these. That is more products
// than the grid has values, but they are sums of bytes times elements (package bytedot), each
// of which takes a tenth of the time of one in the field; and the functional need not
// be made: a part's products are with its eq tables as they are.

const (
	// crossColumns is how many columns are taken at a time: tables of their weights, 16 bytes
	// a column, stay in the first cache.
	crossColumns = 1 << 11
	// minBlockVars is the least number of column variables with which bytedot has tables.
	minBlockVars = 2
)

// crossGrid is productGrid by way of the cross products.
func crossGrid(stack *stackRows, vars int, q *Functional) grid {
	n := 1 << vars
	total := make([]field.QM31, n*n) // product of row h of the stack and h' of the functional at h'·n + h
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

// crossed sets a grid table to the values of Σ over h, h' of λ_h(X)·λ_h'(X)·c[h'·n+h],
// where λ_h(X) is multilinear, 1 at h and 0 at the other points of {0,1}^w. It overwrites c.
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

// crossBlock adds up the products of n rows, block by block.
type crossBlock struct {
	n, width int
	sums     []field.QM31
	rows     *blockRows
	tables   []crossTable // by part of the rows, for those in several blocks
	one      crossTable   // of any other part
	low      []field.QM31
	spread   []field.QM31
	// Of a block: the values of a row of the stack, the planes of all, in the first split
	// pieces of the room, the row and place of each, and MaxRows at a time of them packed.
	values         []int32
	room           [][]int8
	split          int
	planes         [][]int8
	of             []planeOf
	packed         [][]byte
	byPlane, byRow []field.QM31
}

// planeOf is the number of a row and the place of one of its planes.
type planeOf struct{ row, place int }

// crossTable is a part's weights in columns [at, at + len(bytes)/16) of a block.
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

// begin begins with other rows.
func (c *crossBlock) begin(r *blockRows) {
	c.rows, c.tables = r, make([]crossTable, len(r.parts))
}

// add adds the products in block k of the rows.
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

// load gathers the planes of block k of the stack's rows, and says if there are any.
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

// packPlanes packs planes, MaxRows at a time, in the room of packed ones of that width.
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

// table returns a part's weights in a block.
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

// pack makes the table of a part, in the given room if it fits: of whole groups of columns,
// with zeros in those that are not the part's.
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
