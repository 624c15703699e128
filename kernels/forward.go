package kernels

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
)

// A Matrix is a batch of strided matrices of signed integers of Width bytes (1, 2 or 4)
// in a device's memory. Entry (i, c) of matrix b is at index b·Batch + i·Row +
// c·Column.
type Matrix struct {
	Ptr                Ptr
	Width              int
	Row, Column, Batch int
}

// A MatMul adds Coef·A·Bᵀ to the int64 at Acc, for Batches pairs of matrices A of shape
// (M, K) and B of shape (N, K). Entry (i, j) of product b is added to Acc's entry
// b·OutBatch + i·OutRow + j·OutColumn. No two entries of products may have the same
// place.
type MatMul struct {
	Acc                         Ptr
	OutRow, OutColumn, OutBatch int
	A, B                        Matrix
	M, N, K, Batches            int
	Coef                        int64
	Tables                      Tables
	// XBits says that |A| < 2^XBits; it is 31 if nothing is known.
	XBits int
	// Shifts, if not 0, is the address of a byte for each row of B: row j counts 2^Shifts[j] times. Only MultiplyRows
	// accepts it.
	Shifts Ptr
}

// Tables say where entries lie along axes that have no constant stride, in place of the
// stride. Each is the address of a list of int32, by index; zero stands for no table.
type Tables struct {
	ABatch, ARow, AColumn, BBatch, BRow, BColumn, OutBatch, OutRow, OutColumn Ptr
}

// MultiplyAdd computes the product with the kernel that suits it. If one of the
// matrices is a vector, it must be A. The entries of Acc, times Coef, must stay below
// 2^63.
func MultiplyAdd(d Device, p MatMul) error {
	var b Planes
	defer b.Free(d)
	return MultiplyAddWith(d, p, &b)
}

// Planes keep the byte planes that a product has made of its operand B, so that the next
// product with the same B need not make them again.
type Planes struct {
	made planes
	of   planesOf
}

// planesOf says what planes were made of.
type planesOf struct {
	m               Matrix
	rows, k, count  int
	bits            int // entries are below 2^bits in absolute value
	batch, row, col Ptr
}

// Free frees the memory of the planes.
func (b *Planes) Free(d Device) {
	b.made.free(d)
	*b = Planes{}
}

// planes returns the planes of matrices, and keeps them.
func (b *Planes) planes(d Device, of planesOf) (planes, error) {
	if b.of == of {
		return b.made, nil
	}
	b.Free(d)
	made, err := newPlanes(d, of)
	if err == nil {
		b.made, b.of = made, of
	}
	return made, err
}

// Vector reports whether the product is that of one vector with a matrix that is stored row by row or column by column. Such a product
// needs no further memory.
func (p *MatMul) Vector() bool {
	return p.Tables == Tables{} && p.M == 1 && p.Batches == 1 && p.A.Column == 1 && (p.byRows() || p.B.Row == 1 && p.B.Column == p.N)
}

// byRows says whether B is stored row by row.
func (p *MatMul) byRows() bool { return p.B.Column == 1 && p.B.Row == p.K }

// MultiplyAddWith is MultiplyAdd for one of several products that may have the same B, whose
// planes are kept in `kept`. None of the products may write to the memory of a B.
func MultiplyAddWith(d Device, p MatMul, kept *Planes) (err error) {
	defer must.Catch(&err)
	if p.M < 1 || p.N < 1 || p.K < 1 || p.Batches < 1 || p.Acc == 0 || p.A.Ptr == 0 || p.B.Ptr == 0 || p.Shifts != 0 {
		return fmt.Errorf("a product of %d×%d and %d×%d, %d times, with shifts at %#x", p.M, p.K, p.N, p.K, p.Batches, p.Shifts)
	}
	typeA := must.Get(typeName(p.A.Width))
	typeB := must.Get(typeName(p.B.Width))
	vector, rows := p.Vector(), p.byRows()
	switch {
	case vector && rows:
		// There are enough warps to keep a device busy, and enough terms for each.
		jobs := (p.N + gemvRows - 1) / gemvRows
		parts := max(1, min(p.K/gemvTerms, gemvWarps/jobs))
		part := ((p.K-1)/parts/16 + 1) * 16
		parts = (p.K-1)/part + 1
		const warps = block / 32
		return launchForward(d, "forward_gemv_rows_"+typeB+"_"+typeA, Launch{GridX: min((jobs*parts-1)/warps+1, maxGrid), Block: block},
			p.Acc, p.B.Ptr, p.A.Ptr, p.N, p.K, p.Coef, p.OutColumn, parts, part)
	case vector:
		// There are enough blocks to keep a device busy, and enough rows for each.
		blocks := min((p.N-1)/block+1, maxGrid)
		parts := max(1, min(p.K/64, 4096/blocks))
		part := (p.K-1)/parts + 1
		return launchForward(d, "forward_gemv_columns_"+typeB, Launch{GridX: blocks, GridY: (p.K-1)/part + 1, Block: block},
			p.Acc, p.B.Ptr, p.A.Ptr, p.A.Width, p.N, p.K, p.Coef, p.OutColumn, part)
	}
	return multiplyPlanes(d, p, kept)
}

// Sets reports whether MultiplyRows accepts the product.
func (p *MatMul) Sets() bool {
	return p.Vector() && p.byRows() && p.OutColumn == 1 && max(p.A.Width, p.B.Width) <= 2
}

// MultiplyRows computes products of rows with matrices, each of which must satisfy Sets. It sets the accumulators rather than adding to
// them. Several products are launched together, and two with the same matrix read it once.
func MultiplyRows(d Device, products []MatMul) error {
	var list []rowProducts
	for _, p := range products {
		if !p.Sets() || p.N < 1 || p.K < 1 || p.Acc == 0 || p.A.Ptr == 0 || p.B.Ptr == 0 {
			return fmt.Errorf("a product of a row of %d with %d×%d", p.K, p.N, p.K)
		}
		i := slices.IndexFunc(list, func(q rowProducts) bool { return q.more.Acc == 0 && q.B == p.B && q.N == p.N && q.K == p.K })
		switch {
		case i < 0:
			list = append(list, rowProducts{MatMul: p})
		case p.A.Width > list[i].A.Width:
			list[i] = rowProducts{p, list[i].MatMul}
		default:
			list[i].more = p
		}
	}
	for some := range slices.Chunk(list, gemvTogether) {
		if err := multiplyRows(d, some); err != nil {
			return err
		}
	}
	return nil
}

// rowProducts are a product of a row, and a second product with the same matrix; there is no second one if its Acc is 0. The entries
// of the first product's row are at least as wide as those of the second one's.
type rowProducts struct {
	MatMul
	more MatMul
}

// multiplyRows is MultiplyRows for up to gemvTogether matrices.
func multiplyRows(d Device, products []rowProducts) error {
	const warps = block / 32
	jobs := 0
	for _, p := range products {
		jobs += (p.N + gemvRows - 1) / gemvRows
	}
	var args []any
	blocks := 0
	for i := range gemvTogether {
		p, parts, first := rowProducts{}, 1, math.MaxInt32
		if i < len(products) {
			p, first = products[i], blocks
			for parts < warps && 2*parts*jobs <= gemvWarps && p.K >= 2*parts*gemvPart {
				parts *= 2
			}
			blocks += ((p.N+gemvRows-1)/gemvRows*parts-1)/warps + 1
		}
		if i > 0 {
			args = append(args, first)
		}
		args = append(args, p.B.Ptr, p.B.Width+4*p.A.Width+16*p.more.A.Width, p.Shifts, p.N, p.K, parts,
			p.Acc, p.A.Ptr, p.Coef, p.more.Acc, p.more.A.Ptr, p.more.Coef)
	}
	return launchForward(d, "forward_gemv_three", Launch{GridX: blocks, Block: block, Early: true}, args...)
}

// Mantissas writes a matrix of n rows of k integers of 16 bits at w in the form of one byte for each entry at dst, and one shift for
// each row at shifts (MatMul.Shifts). If a row has no such form, the uint32 at bad becomes 1. If dst is 0, only the shifts and bad are
// computed.
func Mantissas(d Device, dst, shifts, bad, w Ptr, n, k int) error {
	if n < 1 || k < 1 || shifts == 0 || bad == 0 || w == 0 {
		return fmt.Errorf("mantissas of a matrix of %d×%d", n, k)
	}
	return launchForward(d, "forward_mantissas", Launch{GridX: min(n, maxGrid), Block: block}, dst, shifts, bad, w, n, k)
}

// Sizes of forward_planes and forward_gemm. A piece has planePiece rows and as many terms. A tile
// has gemmTile rows and columns, and takes gemmDepth terms at a time; a block has at least
// gemmShare of these portions to do. A block has gemmShared bytes of shared memory, for twelve
// planes of rows.
const (
	planePiece = 64
	gemmTile   = 128
	gemmDepth  = 64
	gemmShare  = 4
	gemmShared = 12 * gemmTile * gemmDepth
)

// Sizes of products with vectors by rows. A warp takes gemvRows rows, and at least gemvTerms
// terms; gemvWarps warps keep a device busy.
const (
	gemvRows  = 2
	gemvTerms = 1024
	gemvWarps = 1 << 12

	// gemvTogether is how many matrices are multiplied in one launch at most; in such a launch a warp takes at least
	// gemvPart terms.
	gemvTogether = 3
	gemvPart     = 512
)

// planes are matrices whose entries are split into planes of bytes, of which the uppermost
// is signed. Byte p of entry (i, c) of matrix b is at b·batch + p·plane + i·pitch + c.
type planes struct {
	at                  Ptr
	n                   int
	batch, plane, pitch int
	own                 bool // whether the memory is to be freed
}

// newPlanes returns the planes of matrices. Matrices of aligned bytes are their own plane, and are not copied.
func newPlanes(d Device, of planesOf) (planes, error) {
	m, rows, k, batches, tb, tr, tk := of.m, of.rows, of.k, of.count, of.batch, of.row, of.col
	if m.Width == 1 && m.Column == 1 && tb == 0 && tr == 0 && tk == 0 && (uint64(m.Ptr)|uint64(m.Row)|uint64(m.Batch)|uint64(k))%16 == 0 {
		return planes{at: m.Ptr, n: 1, batch: m.Batch, pitch: m.Row}, nil
	}
	p := planes{n: min(m.Width, of.bits/8+1), pitch: (k + planePiece - 1) / planePiece * planePiece, own: true}
	p.plane = rows * p.pitch
	p.batch = p.n * p.plane
	if m.Batch == 0 && tb == 0 { // all matrices are the same
		p.batch, batches = 0, 1
	}
	var err error
	if p.at, err = d.Alloc(batches * p.n * p.plane); err != nil {
		return planes{}, err
	}
	if m.Column == 1 && tk == 0 {
		l := Launch{GridX: min((rows*(p.pitch/16)-1)/block+1, maxGrid), GridY: min(batches, maxGridY), Block: block}
		err = launchForward(d, "forward_planes_near", l, p.at, m.Ptr, m.Width, p.n, rows, k, p.pitch, batches, m.Batch, m.Row, tb, tr)
	} else {
		l := Launch{GridX: (rows + planePiece - 1) / planePiece * (p.pitch / planePiece), GridY: min(batches, maxGridY), Block: 128}
		err = launchForward(d, "forward_planes", l, p.at, m.Ptr, m.Width, p.n, rows, k, p.pitch, batches, m.Batch, m.Row, m.Column, tb, tr, tk)
	}
	if err != nil {
		p.free(d)
		return planes{}, err
	}
	return p, nil
}

// free frees the memory, if newPlanes has allocated it.
func (p *planes) free(d Device) {
	if p.own {
		d.Free(p.at)
	}
}

// multiplyPlanes is MultiplyAdd on the tensor cores, which multiply bytes: it multiplies planes and adds up their
// products.
func multiplyPlanes(d Device, p MatMul, kept *Planes) (err error) {
	defer must.Catch(&err)
	t := &p.Tables
	b := must.Get(kept.planes(d, planesOf{p.B, p.N, p.K, p.Batches, 31, t.BBatch, t.BRow, t.BColumn}))
	a := must.Get(newPlanes(d, planesOf{p.A, p.M, p.K, p.Batches, p.XBits, t.ABatch, t.ARow, t.AColumn}))
	defer a.free(d)
	k := (p.K + 15) / 16 * 16 // beyond K at least one of the two has zeros
	tiles := ((p.M-1)/gemmTile + 1) * ((p.N-1)/gemmTile + 1)
	work := p.Batches * tiles * ((k-1)/gemmDepth + 1)
	if a.n <= 2 && b.n <= 2 { // all pairs of planes at once
		blocks := d.Multiprocessors()
		if a.n+b.n == 2 {
			blocks *= 2
		}
		l := Launch{GridX: max(1, min(work/gemmShare, blocks)), Block: 256, Shared: gemmShared}
		return launchForward(d, fmt.Sprintf("forward_gemm_%d_%d", a.n, b.n), l,
			p.Acc, a.at, a.batch, a.plane, a.pitch, b.at, b.batch, b.plane, b.pitch,
			p.M, p.N, k, p.Batches, p.Coef, p.OutBatch, p.OutRow, p.OutColumn, t.OutBatch, t.OutRow, t.OutColumn)
	}
	l := Launch{GridX: max(1, min(work*a.n*b.n/gemmShare, 2*d.Multiprocessors())), Block: 128, Shared: gemmShared}
	return launchForward(d, "forward_gemm", l,
		p.Acc, a.at, a.n, a.batch, a.plane, a.pitch, b.at, b.n, b.batch, b.plane, b.pitch,
		p.M, p.N, k, p.Batches, p.Coef, p.OutBatch, p.OutRow, p.OutColumn, t.OutBatch, t.OutRow, t.OutColumn)
}

// launchForward launches a kernel of the group with arguments of the types Ptr,
// int and int64.
func launchForward(d Device, name string, l Launch, args ...any) error {
	return launchOf(d, Kernel{"forward", name}, l, args...)
}

// launchOf launches a kernel with arguments of the types Ptr, int and int64.
func launchOf(d Device, k Kernel, l Launch, args ...any) error {
	words := make([]uint64, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case Ptr:
			words[i] = uint64(v)
		case int:
			words[i] = uint64(v)
		case int64:
			words[i] = uint64(v)
		default:
			panic(fmt.Sprintf("kernels: an argument of type %T", a))
		}
	}
	return d.Launch(k, l, words...)
}

// Random fills n 64-bit words with a pseudo-random sequence that depends on the seed.
func Random(d Device, dst Ptr, n int, seed uint64) error {
	if n < 1 || dst == 0 {
		return fmt.Errorf("%d words of random bytes", n)
	}
	return launchForward(d, "forward_random", Cover(n), dst, n, int64(seed))
}
