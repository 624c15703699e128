package whir

import (
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/bytedot"
	"github.com/prove-model/prove-model/prover/math/field"
)

// The sumcheck over the first row variables, before anything is folded.
//
// View the table of rows as 2^w long rows, w ≤ gridVars. With their columns summed
// away, the product of the stack and the functional is a polynomial of degree 2
// in each of the w variables that number them,
//
//	g(X) = Σ_x Stack~(X, x)·Q~(X, x),
//
// so its values for every variable at 0, at 1 and at ∞ (the leading
// coefficient) are all there is to know: each round polynomial is a sum over a
// part of them. One pass over the rows gives them, with (3/2)^w products for a
// committed value. Only then the long rows are folded into one over K, of a 2^w-th
// of the length, and the other row variables are bound there.

// gridVars is the largest w. One more variable makes the pass over the rows half
// as long again, one fewer doubles the tables over K.
const gridVars = 4

// grid holds g over {0, 1, ∞}^vars, variable 0 most significant, ∞ last.
type grid struct {
	vars   int
	values []field.QM31
}

func newGrid(vars int) grid {
	n := 1
	for range vars {
		n *= 3
	}
	return grid{vars, make([]field.QM31, n)}
}

// thirds returns the parts of a grid table with the first variable at 0, at 1
// and at ∞.
func thirds(t []field.QM31) (at0, at1, atInf []field.QM31) {
	n := len(t) / 3
	return t[:n], t[n : 2*n], t[2*n:]
}

// round returns the sums of a round over the first variable.
func (g *grid) round() Sums {
	at0, _, atInf := thirds(g.values)
	return Sums{cubeSum(at0), cubeSum(atInf)}
}

// bind binds the first variable.
func (g *grid) bind(r field.QM31) {
	at0, at1, atInf := thirds(g.values)
	for k, v0 := range at0 {
		at0[k] = field.RoundValue(v0, atInf[k], v0.Add(at1[k]), r)
	}
	g.vars, g.values = g.vars-1, at0
}

// cubeSum returns the sum of a grid table over {0,1}^n.
func cubeSum(t []field.QM31) field.QM31 {
	if len(t) == 1 {
		return t[0]
	}
	at0, at1, _ := thirds(t)
	return cubeSum(at0).Add(cubeSum(at1))
}

// gridColumns is how many columns are taken at a time: so few that a [gridBlock]
// stays in the second-level cache.
const gridColumns = 256

// productGrid returns the grid over the first vars variables of the product of
// the stack and the functional.
func productGrid(stack *stackRows, vars int, q *Functional) grid {
	if bytedot.Fast() && q.RowVars >= minBlockVars {
		return crossGrid(stack, vars, q)
	}
	return recursiveGrid(stack, vars, q)
}

// recursiveGrid is productGrid with (3/2)^vars products of a value of F and one of K for each
// committed value ([gridBlock.add]).
func recursiveGrid(stack *stackRows, vars int, q *Functional) grid {
	total := newGrid(vars)
	f := newBlockFunctional(q, min(1<<q.RowVars, gridColumns))
	longRow := len(stack.rows) >> vars // rows in a long row
	parallel.Collect(longRow*f.blocks(), 1, func(from, to int) func() {
		sum := newGrid(vars)
		b := newGridBlock(vars, f.width)
		var low *lowTables
		f.eachBlock(longRow, from, to, func(r *blockRows) { low = newLowTables(r) }, func(r *blockRows, k int) {
			b.load(stack, r.first, longRow, k)
			b.fill(r, low, k)
			b.add(sum.values, 0, 1<<vars)
		})
		return func() { field.AddQM31Vec(total.values, total.values, sum.values) }
	})
	return total
}

// sparseRows are rows of one length. A row that is not live is zero, whatever its
// values in memory are.
type sparseRows[T any] struct {
	width  int
	values []T    // row after row
	live   []bool // by row
}

func newSparseRows[T any](rows, width int) sparseRows[T] {
	return sparseRows[T]{width, make([]T, rows*width), make([]bool, rows)}
}

func (s *sparseRows[T]) row(i int) []T { return s.values[i*s.width : (i+1)*s.width] }

func (s *sparseRows[T]) anyLive(from, n int) bool { return slices.Contains(s.live[from:from+n], true) }

// difference sets row dst to row a minus row b.
func (s *sparseRows[T]) difference(dst, a, b int, sub func(dst, a, b []T)) {
	s.live[dst] = s.live[a] || s.live[b]
	for _, i := range [...]int{a, b} {
		if s.live[dst] && !s.live[i] {
			clear(s.row(i))
		}
	}
	if s.live[dst] {
		sub(s.row(dst), s.row(a), s.row(b))
	}
}

// gridBlock holds one block of columns of the 2^vars long rows of the stack (m) and of the
// functional (q). Behind them there is room for the rows with a variable at ∞, which are
// differences of two rows: 2^(vars−1) for the first variable and half as many for each
// further one.
type gridBlock struct {
	vars int
	m    sparseRows[field.M31]
	q    sparseRows[field.QM31]
}

func newGridBlock(vars, width int) *gridBlock {
	return &gridBlock{vars, newSparseRows[field.M31](2<<vars, width), newSparseRows[field.QM31](2<<vars, width)}
}

// load sets the stack's rows to block k of every step-th table row from number first on.
func (b *gridBlock) load(stack *stackRows, first, step, k int) {
	w := b.m.width
	values := make([]int32, w)
	for i := range 1 << b.vars {
		if b.m.live[i] = stack.fill(first+i*step, k*w, values); b.m.live[i] {
			field.FromInt32Vec(b.m.row(i), values)
		}
	}
}

// fill sets the functional's rows to block k of the rows of r.
func (b *gridBlock) fill(r *blockRows, low *lowTables, k int) {
	clear(b.q.live)
	for _, e := range r.block(k) {
		p := &r.parts[e.part]
		table := low.of(e.part)
		r.each(p, func(at int, weight field.QM31) {
			row := b.q.row(at)
			if !b.q.live[at] {
				b.q.live[at] = true
				clear(row)
			}
			mulAcc(row[p.Column%r.width:], p.Stride, table, weight.Mul(p.weights[e.high]))
		})
	}
}

// mulAcc does dst[i·2^stride] += a[i]·c for all i. a has at most gridColumns entries.
func mulAcc(dst []field.QM31, stride int, a []field.QM31, c field.QM31) {
	if stride == 0 {
		field.MulAccQM31Vec(dst[:len(a)], a, c)
		return
	}
	var products [gridColumns]field.QM31
	p := products[:len(a)]
	field.MulAccQM31Vec(p, a, c)
	for i, v := range p {
		dst[i<<stride] = dst[i<<stride].Add(v)
	}
}

// add adds to out, a grid table over log2 n variables, the products of the n rows of m and
// q from number `first` on. The first variable is 0 on the first half of these rows and 1
// on the others; at ∞ there is the difference of the two halves, of m and of q.
func (b *gridBlock) add(out []field.QM31, first, n int) {
	if !b.m.anyLive(first, n) || !b.q.anyLive(first, n) {
		return
	}
	if n == 1 {
		out[0] = out[0].Add(field.DotM31(b.m.row(first), b.q.row(first)))
		return
	}
	at0, at1, atInf := thirds(out)
	h := n / 2
	b.add(at0, first, h)
	b.add(at1, first+h, h)
	// The room of this depth of the recursion: h rows, behind those of the callers, which have
	// rows 2^vars … 2·2^vars − n − 1.
	inf := 2<<b.vars - n
	for i := range h {
		b.m.difference(inf+i, first+h+i, first+i, field.SubVec)
		b.q.difference(inf+i, first+h+i, first+i, field.SubQM31Vec)
	}
	b.add(atInf, inf, h)
}
