package whir

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
)

// Tree is the commitment to rows in groups. Leaf p is made from column p, the
// p-th value of every row's codeword: the digests of the column's part in each group
// (hash.Columns), and if there are several groups or a salt, that of these (hash.Leaves). The codewords themselves are not
// kept: opening encodes the rows again.
type Tree struct {
	layout Layout
	nodes  Nodes
}

// Commit commits to the rows of src, as many as the layout has. It panics on a
// layout that is none, and unless src is a [HidingSource] where the layout has tails. Memory is twice that of some rows
// of 4 bytes a value (hash.Suite.RowsAtOnce), at most 128 bytes a column and the tree. The error is that of the context.
func Commit(ctx context.Context, l Layout, src RowSource) (*Tree, error) {
	if err := l.check(); err != nil {
		panic(err.Error())
	}
	if src.Rows() != l.Rows() {
		panic("whir: a source with other rows than the layout")
	}
	columns := 1 << l.LogDomain()
	leaves := l.newLeaves(columns)
	if l.Salted() {
		salts := make([]hash.Digest, columns)
		parallel.For(columns, saltsAtOnce, func(from, to int) { src.(HidingSource).FillSalts(uint64(from), salts[from:to]) })
		leaves.Absorb(salts)
	}
	words := newWordRoom(min(l.Rows(), l.Hash.RowsAtOnce()), l.RowVars, l.LogDomain())
	hasher := l.Hash.NewColumns(columns, 0)
	first := 0
	for _, g := range l.Groups {
		hasher.Reset(g.Rows)
		if err := hashRows(ctx, hasher, src, first, g, words); err != nil {
			return nil, err
		}
		leaves.AbsorbColumns(hasher)
		first += g.Rows
	}
	return &Tree{l, localNodes{merkle.New(l.Hash, leaves.Sum())}}, nil
}

// saltsAtOnce is the least number of salts worth a goroutine.
const saltsAtOnce = 1 << 10

// wordRoom is room for some rows, and for what is made of them at a time.
type wordRoom struct {
	blocks        code.Blocks
	rowVars       int
	values        [][]int32     // in the memory of coeffs
	coeffs, words [][]field.M31 // words are of some parts of codewords at a time, before the last layers (code.Blocks)
	parts         int           // so many
	tails         [][]field.M31 // empty where there are none
}

// cachedVars is log2 of the longest row of which codewords are made as a whole: there are too few blocks
// of these for many cores, and a shared cache has them. Of rows of up to four times that length all parts
// are made at a time.
const cachedVars = 14

func newWordRoom(rows, rowVars, logDomain int) *wordRoom {
	r := &wordRoom{blocks: code.NewBlocks(rowVars, logDomain), rowVars: rowVars}
	r.parts = r.blocks.Parts()
	if rowVars > cachedVars+2 {
		r.parts = 1
	}
	r.values, r.coeffs, r.words = make([][]int32, rows), make([][]field.M31, rows), make([][]field.M31, rows)
	r.tails = make([][]field.M31, rows)
	for i := range rows {
		r.coeffs[i], r.words[i] = make([]field.M31, 1<<rowVars), make([]field.M31, r.parts<<rowVars)
		r.values[i] = unsafe.Slice((*int32)(unsafe.Pointer(&r.coeffs[i][0])), 1<<rowVars)
	}
	return r
}

// newLeaves returns what makes so many leaves of the groups' digests, and of salts before these
// if there are salts.
func (l *Layout) newLeaves(n int) hash.Leaves {
	if l.Salted() {
		return l.Hash.NewSaltedLeaves(n, len(l.Groups))
	}
	return l.Hash.NewLeaves(n, len(l.Groups))
}

// hashRows has the hasher absorb the codewords of a group's rows, from row first of src on, as
// many at a time as there is room for.
func hashRows(ctx context.Context, hasher hash.Columns, src RowSource, first int, g Group, r *wordRoom) error {
	n := g.Rows
	for done := 0; done < n; done += len(r.words) {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch := min(len(r.words), n-done)
		parallel.For(batch, 1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				src.FillRow(first+done+i, 0, r.values[i])
				field.FromInt32Vec(r.coeffs[i], r.values[i])
				r.tails[i] = r.tails[i][:0]
				if g.Tail > 0 {
					r.tails[i] = slices.Grow(r.tails[i], g.Tail)[:g.Tail]
					src.(HidingSource).FillTail(first+done+i, r.tails[i])
				}
				if r.rowVars <= cachedVars {
					code.EncodeTail(r.words[i], r.coeffs[i], r.tails[i])
				}
			}
		})
		if r.rowVars <= cachedVars {
			hasher.AbsorbRows(r.words[:batch])
		} else {
			r.hashLong(hasher.Next(batch), batch)
		}
	}
	return nil
}

// hashLong is the rest for n rows that are long. Blocks of neighbouring positions are hashed as soon as
// they are made, from the cache: whole codewords are never in memory.
func (r *wordRoom) hashLong(absorb func(from int, rows [][]field.M31), n int) {
	size, count := r.blocks.Len(), r.blocks.Count()
	for part := 0; part < r.blocks.Parts(); part += r.parts {
		parallel.For(n*r.parts, 1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				row, k := i/r.parts, i%r.parts
				r.blocks.Upper(r.words[row][k<<r.rowVars:(k+1)<<r.rowVars], r.coeffs[row], r.tails[row], part+k)
			}
		})
		parallel.For(count*r.parts, 1, func(lo, hi int) {
			room, last := make([]field.M31, n*size), make([][]field.M31, n)
			for i := range last {
				last[i] = room[i*size : (i+1)*size]
			}
			for k := lo; k < hi; k++ {
				for i, block := range last {
					r.blocks.Lower(block, r.words[i][k*size:(k+1)*size], part+k/count, k%count)
				}
				absorb((part*count+k)*size, last)
			}
		})
	}
}

// NewTree returns the commitment with the given nodes to rows of that layout: what
// [Commit] returns, with nodes from elsewhere. It panics if they do not fit.
func NewTree(l Layout, nodes Nodes) *Tree {
	if err := l.check(); err != nil {
		panic(err.Error())
	}
	if nodes.Depth() != l.LogDomain() {
		panic("whir: a tree of another depth than the code's")
	}
	return &Tree{l, nodes}
}

// FromLayers returns the tree over rows of that layout with layers that
// [Tree.Layers] gave. Wrong digests are not noticed here; they give proofs that
// no verifier accepts.
func FromLayers(l Layout, layers [][]hash.Digest) (_ *Tree, err error) {
	defer must.Catch(&err)
	must.OK(l.check())
	nodes := must.Get(merkle.FromLayers(layers))
	if nodes.Depth() != l.LogDomain() {
		return nil, fmt.Errorf("whir: a tree of depth %d for rows of 2^%d values at rate 2^-%d", nodes.Depth(), l.RowVars, l.LogBlowup)
	}
	return &Tree{l, localNodes{nodes}}, nil
}

// Root returns the commitment.
func (t *Tree) Root() hash.Digest { return t.nodes.Root() }

// Nodes returns the digests.
func (t *Tree) Nodes() Nodes { return t.nodes }

// Layout returns the tree's shape.
func (t *Tree) Layout() Layout { return t.layout }

// Layers returns the tree's layers, leaves first. They must not be changed. A
// tree whose layers have been asked for is in this process's memory.
func (t *Tree) Layers(ctx context.Context) ([][]hash.Digest, error) { return t.nodes.Layers(ctx) }
