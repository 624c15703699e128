package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

func codeKernel(name string) Kernel { return Kernel{"code", name} }

// lastVars is LAST of code.cu: the layers done in shared memory.
const lastVars = 12

// passVars is the most layers of one pass over global memory.
const passVars = 4

// encodeThreads is the block size of encode_last for tables of 2^vars: eight
// elements a thread, as far as that gives whole warps.
func encodeThreads(vars int) int { return max(32, 1<<vars/8) }

// maxGridY is CUDA's limit.
const maxGridY = 1<<16 - 1

// Encode sets rows codewords of 2^logDomain M31 at dst to the encoding of as many
// rows of 2^logTable values at src (code.Encode): signed 32-bit integers, or M31,
// which are taken for the integers they look like. twiddles are those of a domain
// of that size or a larger one.
func Encode(d Device, dst, src, twiddles Ptr, rows, logTable, logDomain int) error {
	if rows < 1 || rows > maxGridY || logTable < 0 || logTable > logDomain || logDomain > code.MaxLogSize {
		return fmt.Errorf("%w: encoding %d rows of 2^%d values as 2^%d", ErrSize, rows, logTable, logDomain)
	}
	level := logDomain - logTable // whose nodes start from copies of the table
	first := true
	left := max(0, logTable-lastVars)
	for passes := (left + passVars - 1) / passVars; left > 0; passes-- {
		layers := (left + passes - 1) / passes
		grid := Launch{GridX: max(1, 1<<(logDomain-layers)/threads), GridY: rows, Block: threads}
		var err error
		if first {
			err = d.Launch(codeKernel(fmt.Sprint("encode_first", layers)), grid, uint64(dst), uint64(src), uint64(twiddles), uint64(logDomain), uint64(level))
		} else {
			err = d.Launch(codeKernel(fmt.Sprint("encode_pass", layers)), grid, uint64(dst), uint64(twiddles), uint64(logDomain), uint64(level))
		}
		if err != nil {
			return err
		}
		first = false
		level += layers
		left -= layers
	}
	if !first {
		src = 0
	}
	return d.Launch(codeKernel("encode_last"), Launch{GridX: 1 << level, GridY: rows, Block: encodeThreads(logDomain - level)},
		uint64(dst), uint64(src), uint64(twiddles), uint64(logDomain), uint64(level))
}

// Twiddles sets the 2^n M31 at dst to the twiddles of a domain of that size.
func Twiddles(d Device, dst Ptr, n int) error {
	if n < 0 || n > code.MaxLogSize {
		return fmt.Errorf("%w: twiddles of a domain of 2^%d points", ErrSize, n)
	}
	var powers [2 * 31]field.M31
	g := code.Generator()
	for i := range 31 {
		powers[2*i], powers[2*i+1] = g.A0, g.A1
		g = g.Mul(g)
	}
	p, err := d.Alloc(len(powers) * SizeM31)
	if err != nil {
		return err
	}
	defer d.Free(p)
	if err := d.Upload(p, Bytes(powers[:])); err != nil {
		return err
	}
	return launchFor(d, codeKernel("make_twiddles"), 1<<n, uint64(dst), uint64(p), uint64(n))
}

// SplitLimbs sets dst to the limbs of `rows` rows of 2^n elements of K at src:
// four rows of M31 for each.
func SplitLimbs(d Device, dst, src Ptr, n, rows int) error {
	k := codeKernel("split_limbs")
	if n < 0 || n > code.MaxLogSize || rows < 1 {
		return fmt.Errorf("%w: %s of %d rows of 2^%d", ErrSize, k.Name, rows, n)
	}
	return launchFor(d, k, rows<<n, uint64(dst), uint64(src), uint64(n), uint64(rows))
}

// GatherColumns copies the M31 of n rows, the r-th at words + 4·r·stride, at
// `count` columns given by 64-bit positions: that of row r and position k goes to
// element k·length + r of dst.
func GatherColumns(d Device, dst Ptr, length int, words Ptr, stride, n int, positions Ptr, count int) error {
	k := codeKernel("gather_columns")
	if err := positive(k, length, stride, n, count); err != nil {
		return err
	}
	return launchFor(d, k, n*count, uint64(dst), uint64(length), uint64(words), uint64(stride), uint64(n), uint64(positions), uint64(count))
}
