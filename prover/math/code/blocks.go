package code

import "github.com/prove-model/prove-model/prover/math/field"

// Blocks is an encoding that is computed in blocks of neighbouring positions: first all layers above the blocks (Upper), then those
// within each block, which stay in a core's cache (Lower). A caller that uses each block at once need not keep the codeword, but
// only as many elements as the table has. Layers above blocks are computed two at a time in each pass over memory. On processors
// these passes are bound by arithmetic, since the memory that they stream is prefetched; copying distant columns next to each other
// first takes longer than it saves.
type Blocks struct {
	n, m, block int // log2 of the lengths of the table, of the codeword and of a block
}

// blockVars is log2 of the length of a block of one row, unless the table is shorter. Sixteen such blocks, of sixteen rows, take 256 KB,
// which fit into the second-level cache.
const blockVars = 12

// NewBlocks returns the blocks of encodings of tables of 2^n elements on X_m, n ≤ m ≤ MaxLogSize.
func NewBlocks(n, m int) Blocks {
	if n < 0 || m < n || m > MaxLogSize {
		panic("code: the codeword is shorter than the table, or too long")
	}
	return Blocks{n, m, min(n, blockVars)}
}

// Parts returns the number of parts of 2^n neighbouring positions in the codeword. Each can be computed by itself
// from the table.
func (b Blocks) Parts() int { return 1 << (b.m - b.n) }

// Count returns the number of blocks of a part.
func (b Blocks) Count() int { return 1 << (b.n - b.block) }

// Len returns the length of a block.
func (b Blocks) Len() int { return 1 << b.block }

// Upper computes the layers above the blocks of one part: it sets dst to the input of Lower for all blocks of the part. dst and
// coeffs, the table, must have 2^n elements and must not overlap. tail is the tail of the table, which may be empty. Upper works on the
// calling goroutine.
func (b Blocks) Upper(dst, coeffs, tail []field.M31, part int) {
	if len(dst) != 1<<b.n || len(coeffs) != 1<<b.n {
		panic("code: a table of another length")
	}
	n, m := lens(coeffs, tail, b.m)
	if len(tail) > 0 {
		addTail(dst, coeffs, tail, NewDomain(m-n).Point(uint64(part)))
		coeffs = dst
	}
	transform(twiddles(m)).upper(dst, coeffs, 1<<(m-n)+part, b.Len())
}

// Lower sets dst to the values of the codeword at the positions of block k of a part. src is that block
// of what Upper has computed for the part. dst may be src. Lower works on the calling goroutine.
func (b Blocks) Lower(dst, src []field.M31, part, k int) {
	if len(dst) != b.Len() || len(src) != b.Len() {
		panic("code: a block of another length")
	}
	transform(twiddles(b.m)).node(dst, src, (1<<(b.m-b.n)+part)<<(b.n-b.block)+k)
}

// upper computes the layers of node v down to blocks of `least` elements, at least 2·lanes. src may be dst.
func (t transform) upper(dst, src []field.M31, v, least int) {
	switch {
	case len(dst) == least:
		if &src[0] != &dst[0] {
			copy(dst, src)
		}
	case len(dst) == 2*least:
		radix2(dst, src, v, 1, t)
	case len(dst) > leafLen:
		radix4(dst, src, v, 1, t)
		quarter := len(dst) / 4
		for k := range 4 {
			child := dst[k*quarter : (k+1)*quarter]
			t.upper(child, child, 4*v+k, least)
		}
	default: // nodes of the same level side by side
		count, block := 1, len(dst)
		for ; block >= 4*least; block /= 4 {
			radix4(dst, src, v, count, t)
			src, v, count = dst, 4*v, 4*count
		}
		if block > least {
			radix2(dst, src, v, count, t)
		}
	}
}
