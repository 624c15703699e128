package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Logarithms of numbers of elements that a block of threads has in shared memory (code.cu): 2^tileVars, to which a pass
// applies up to tileLayers layers of the transform, and 2^lastVars for the last layers of a codeword.
const tileVars, tileLayers, lastVars = 13, 10, 12

// maxGridX and maxGridY are the greatest sizes of a grid that CUDA allows.
const maxGridX, maxGridY = 1<<31 - 1, 1<<16 - 1

// Encode sets `rows` codewords of 2^logDomain M31 at dst to the encodings (code.Encode) of as many rows of
// 2^logTable values at src. The values are signed 32-bit integers; M31 have the same representation.
// twiddles are those of a domain of that size or a larger one (Twiddles). For tables of 2^13 to 2^23 values,
// the kernels write each codeword twice and read it once.
func Encode(d Device, dst, src, twiddles Ptr, rows, logTable, logDomain int) error {
	return encode(d, dst, src, twiddles, rows, logTable, logDomain, 1)
}

// EncodePart computes one part of the codewords that Encode computes: a codeword consists of
// 2^(logDomain−logTable) parts of 2^logTable consecutive positions, numbered by `part`. The parts of all
// rows lie at dst one after the other.
func EncodePart(d Device, dst, src, twiddles Ptr, rows, logTable, logDomain, part int) error {
	blowup := logDomain - logTable
	if blowup < 0 || logDomain > code.MaxLogSize || part < 0 || part>>blowup != 0 {
		return fmt.Errorf("%w: part %d of codewords of 2^%d for 2^%d values", ErrSize, part, logDomain, logTable)
	}
	return encode(d, dst, src, twiddles, rows, logTable, logTable, 1<<blowup+part)
}

// encode evaluates tables over the 2^logDomain positions below a node of the transform's tree. The root, node 1,
// stands for all positions (package code, twiddles).
func encode(d Device, dst, src, twiddles Ptr, rows, logTable, logDomain, node int) error {
	if rows < 1 || rows > maxGridY || logTable < 0 || logTable > logDomain || logDomain > code.MaxLogSize ||
		rows<<max(0, logDomain-lastVars) > maxGridX {
		return fmt.Errorf("%w: encoding %d rows of 2^%d values as 2^%d", ErrSize, rows, logTable, logDomain)
	}
	level := logDomain - logTable // the level below node at which every node starts from a copy of the table
	if logTable < lastVars {
		// A thread takes eight elements, unless that leaves less than a warp.
		return d.Launch(Kernel{"code", "encode_short"}, Launch{GridX: 1 << level, GridY: rows, Block: max(32, 1<<logTable/8)},
			uint64(dst), uint64(src), uint64(twiddles), uint64(logDomain), uint64(level), uint64(node))
	}
	pass := func(vars, layers int) error {
		err := d.Launch(Kernel{"code", fmt.Sprint("encode_tile", layers)}, Launch{GridX: rows << (logDomain - vars), Block: threads},
			uint64(dst), uint64(src), uint64(twiddles), uint64(logDomain), uint64(level), uint64(rows), uint64(node))
		level += layers
		src = 0 // the next pass continues with the codewords at dst
		return err
	}
	last := lastVars
	if logTable == tileLayers+tileVars {
		last = tileVars // then two passes suffice
	}
	left := logTable - last
	for passes := (left + tileLayers - 1) / tileLayers; left > 0; passes-- {
		layers := (left + passes - 1) / passes
		if err := pass(tileVars, layers); err != nil {
			return err
		}
		left -= layers
	}
	return pass(last, last)
}

// Twiddles sets the 2^n words at dst to the twiddles of a domain of 2^n points, each doubled, as Encode takes them.
func Twiddles(d Device, dst Ptr, n int) (err error) {
	defer must.Catch(&err)
	if n < 0 || n > code.MaxLogSize {
		return fmt.Errorf("%w: twiddles of a domain of 2^%d points", ErrSize, n)
	}
	var powers [2 * 31]field.M31
	g := code.Generator()
	for i := range 31 {
		powers[2*i], powers[2*i+1] = g.A0, g.A1
		g = g.Mul(g)
	}
	p := must.Get(d.Alloc(len(powers) * SizeM31))
	defer d.Free(p)
	must.OK(d.Upload(p, Bytes(powers[:])))
	return launchFor(d, Kernel{"code", "make_twiddles"}, 1<<n, uint64(dst), uint64(p), uint64(n))
}

// SplitLimbs splits `rows` rows of 2^n elements of K at src into their limbs: each row
// becomes four rows of M31 at dst.
func SplitLimbs(d Device, dst, src Ptr, n, rows int) error {
	k := Kernel{"code", "split_limbs"}
	if n < 0 || n > code.MaxLogSize || rows < 1 {
		return fmt.Errorf("%w: %s of %d rows of 2^%d", ErrSize, k.Name, rows, n)
	}
	return launchFor(d, k, rows<<n, uint64(dst), uint64(src), uint64(n), uint64(rows))
}

// GatherColumns copies columns of a matrix of M31. Row r of its n rows begins at words
// + 4·r·stride, and positions has the 64-bit indexes of `count` columns. The entry of
// row r in the k-th of these columns goes to element k·length + r of dst.
func GatherColumns(d Device, dst Ptr, length int, words Ptr, stride, n int, positions Ptr, count int) error {
	return Kernel{"code", "gather_columns"}.of(length, stride, n, count).each(d, n*count, uint64(dst), uint64(length), uint64(words), uint64(stride), uint64(n), uint64(positions), uint64(count))
}
