package code

import "github.com/prove-model/prove-model/prover/math/field"

// Blocks is an encoding that ends in blocks of neighbouring positions: first all layers above them,
// then those within each, which stay in a core's cache. Whoever uses up a block at once need not keep
// the codeword, but as many elements as the table has. Layers above blocks go over memory two by two:
// on processors they are bound by arithmetic, since all their streams are read ahead, and bringing
// distant columns together first takes longer than it saves.
type Blocks struct {
	n, m, block int // logarithms of lengths: table, codeword, block
}

// blockVars is log2 of the length of a block: sixteen of one row each, 256 KB, fit into the
// second-level cache.
const blockVars = 12

// NewBlocks returns the blocks of encodings of tables of 2^n elements on X_m, n ≤ m ≤ MaxLogSize.
func NewBlocks(n, m int) Blocks {
	if n < 0 || m < n || m > MaxLogSize {
		panic("code: the codeword is shorter than the table, or too long")
	}
	return Blocks{n, m, min(n, blockVars)}
}

// Parts returns into how many parts of 2^n neighbouring positions the codeword falls, each of which
// depends on the table alone.
func (b Blocks) Parts() int { return 1 << (b.m - b.n) }

// Count returns the number of blocks of a part.
func (b Blocks) Count() int { return 1 << (b.n - b.block) }

// Len returns the length of a block.
func (b Blocks) Len() int { return 1 << b.block }

// Upper does the layers above blocks, those of one part: dst becomes what Lower makes the blocks of.
// dst and coeffs, the table, have 2^n elements; they are apart. The table may have a tail. It works on the calling goroutine.
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

// Lower sets dst to the values of the codeword at the positions of a block: the k-th of a part, of
// which src is what Upper has made. dst may be src. It works on the calling goroutine.
func (b Blocks) Lower(dst, src []field.M31, part, k int) {
	if len(dst) != b.Len() || len(src) != b.Len() {
		panic("code: a block of another length")
	}
	transform(twiddles(b.m)).node(dst, src, (1<<(b.m-b.n)+part)<<(b.n-b.block)+k)
}

// upper does the layers of node v down to blocks of `least` elements, 2·lanes at least. src may be dst.
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
