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

// Tree is the commitment to rows in groups. Leaf p is a hash of column p, the p-th value of
// every row's codeword. The part of a column in each group is hashed by itself (hash.Columns).
// If there are several groups or a salt, the leaf is a hash of these digests (hash.Leaves). The
// codewords are not kept: opening encodes the rows again.
type Tree struct {
	layout Layout
	nodes  Nodes
}

// Commit commits to the rows of src, as many as the layout has. It panics if the layout is
// not valid, and if it has tails and src is no [HidingSource]. It works on as many rows at a time
// as hash.Suite.RowsAtOnce says and needs memory for twice these, at 4 bytes a value, besides at
// most 128 bytes a column and the tree. The only error is that of the context.
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

// wordRoom is memory for the rows that are encoded at a time, and for their codewords or
// parts of these. All slices are by row.
type wordRoom struct {
	blocks  code.Blocks
	rowVars int
	values  [][]int32 // the rows as integers, in the memory of coeffs
	// coeffs are the rows as elements of F. words are their codewords; of long rows they are some
	// parts of the codewords, before the last layers of the encoder (code.Blocks).
	coeffs, words [][]field.M31
	parts         int           // how many parts of a codeword words has
	tails         [][]field.M31 // empty where there are none
}

// cachedVars is log2 of the longest row that is encoded as a whole. Such rows have too few blocks
// to occupy many cores, and their codewords fit into a shared cache. A longer row is encoded in
// blocks (hashLong): of rows of up to 2^(cachedVars+2) values all parts of the codeword are made at
// a time, of others one part.
const cachedVars = 14

// newWordRoom returns memory for the given number of rows of 2^rowVars values.
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

// newLeaves returns the hasher that makes n leaves, each of a salt, if the layout has salts, and
// of its groups' digests.
func (l *Layout) newLeaves(n int) hash.Leaves {
	if l.Salted() {
		return l.Hash.NewSaltedLeaves(n, len(l.Groups))
	}
	return l.Hash.NewLeaves(n, len(l.Groups))
}

// hashRows encodes the rows of group g, which are the rows of src from number first on, and has
// the hasher absorb the codewords, as many rows at a time as there is room for.
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

// hashLong is the part of hashRows that encodes and absorbs n rows of more than 2^cachedVars values. A
// block of neighbouring positions is hashed as soon as it is made, while it is in the cache: the
// codewords are never in memory as a whole.
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

// NewTree returns a commitment to rows of that layout whose Merkle tree is already made, on a
// device for example. It panics if the nodes do not fit the layout.
func NewTree(l Layout, nodes Nodes) *Tree {
	if err := l.check(); err != nil {
		panic(err.Error())
	}
	if nodes.Depth() != l.LogDomain() {
		panic("whir: a tree of another depth than the code's")
	}
	return &Tree{l, nodes}
}

// FromLayers returns the tree over rows of that layout from its layers, as [Tree.Layers]
// returns them. It does not check the digests; a prover with wrong ones makes proofs that
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
