package kernels

import "fmt"

// A Matrix is a strided matrix of signed integers of Width bytes (1, 2 or 4)
// in a device's memory, one of a batch: entry (i, c) of matrix b is at
// b·Batch + i·Row + c·Column.
type Matrix struct {
	Ptr                Ptr
	Width              int
	Row, Column, Batch int
}

// A MatMul adds Coef·A·Bᵀ to Acc, of int64, for Batches pairs of matrices A of
// (M, K) and B of (N, K). Entry (i, j) of product b is Acc's at
// b·OutBatch + i·OutRow + j·OutColumn; no two may be the same.
type MatMul struct {
	Acc                         Ptr
	OutRow, OutColumn, OutBatch int
	A, B                        Matrix
	M, N, K, Batches            int
	Coef                        int64
	Tables                      Tables
	// XBits says that |A| < 2^XBits, 31 if nothing is known.
	XBits int
}

// Tables say where entries lie along axes that no stride describes, in place of it: each
// is a list of int32, by index. Zero stands for none.
type Tables struct {
	ABatch, ARow, AColumn, BBatch, BRow, BColumn, OutBatch, OutRow, OutColumn Ptr
}

// maxGemmI8 is the longest sum of products of bytes that fits 32 bits.
const maxGemmI8 = 1<<17 - 1

// MultiplyAdd computes the product with the kernel that suits it. A vector goes
// in as A; entries of Acc, times Coef, stay below 2^63.
func MultiplyAdd(d Device, p MatMul) error {
	if p.M < 1 || p.N < 1 || p.K < 1 || p.Batches < 1 || p.Acc == 0 || p.A.Ptr == 0 || p.B.Ptr == 0 {
		return fmt.Errorf("a product of %d×%d and %d×%d, %d times", p.M, p.K, p.N, p.K, p.Batches)
	}
	typeA, err := typeName(p.A.Width)
	if err != nil {
		return err
	}
	typeB, err := typeName(p.B.Width)
	if err != nil {
		return err
	}
	strided := p.Tables == Tables{}
	vector := strided && p.M == 1 && p.Batches == 1 && p.A.Width == 4 && p.A.Column == 1
	rows := p.B.Column == 1 && p.B.Row == p.K
	switch {
	case vector && rows:
		name := "forward_gemv_rows_" + typeB
		if p.B.Width == 1 && p.XBits <= 19 {
			name += "_narrow"
		}
		const warps = block / 32
		return launchForward(d, name, Launch{GridX: min((p.N-1)/(4*warps)+1, maxGrid), Block: block},
			p.Acc, p.B.Ptr, p.A.Ptr, p.N, p.K, p.Coef, p.OutColumn)
	case vector && p.B.Row == 1 && p.B.Column == p.N:
		// Enough blocks to keep a device busy, each with some rows to sum.
		blocks := min((p.N-1)/block+1, maxGrid)
		parts := max(1, min(p.K/64, 4096/blocks))
		part := (p.K-1)/parts + 1
		return launchForward(d, "forward_gemv_columns_"+typeB, Launch{GridX: blocks, GridY: (p.K-1)/part + 1, Block: block},
			p.Acc, p.B.Ptr, p.A.Ptr, p.N, p.K, p.Coef, p.OutColumn, part)
	case strided && p.Batches == 1 && typeA == "i8" && typeB == "i8" && rows && p.A.Column == 1 && p.A.Row == p.K && p.K%16 == 0 && p.K <= maxGemmI8:
		return launchForward(d, "forward_gemm_i8", Launch{GridX: gemmTiles(p), Block: 128},
			p.Acc, p.A.Ptr, p.B.Ptr, p.M, p.N, p.K, p.OutRow, p.OutColumn, p.Coef)
	}
	// Where tiles are few, parts of the terms are the work of several blocks.
	blocks := gemmTiles(p) * min(p.Batches, maxGridY)
	depths := (p.K-1)/gemmDepth + 1
	parts := max(1, min(depths/2, 2*d.Multiprocessors()/blocks))
	t := &p.Tables
	return launchForward(d, "forward_gemm",
		Launch{GridX: gemmTiles(p) * parts, GridY: min(p.Batches, maxGridY), Block: 128, Shared: (p.A.Width + p.B.Width) * gemmPlane},
		p.Acc, p.A.Ptr, p.A.Width, p.B.Ptr, p.B.Width, p.M, p.N, p.K, p.Batches, parts, p.Coef,
		p.A.Batch, p.A.Row, p.A.Column, p.B.Batch, p.B.Row, p.B.Column, p.OutBatch, p.OutRow, p.OutColumn,
		t.ABatch, t.ARow, t.AColumn, t.BBatch, t.BRow, t.BColumn, t.OutBatch, t.OutRow, t.OutColumn)
}

// gemmDepth is how many terms of a product a block takes at a time, and gemmPlane the
// shared memory for one byte of each entry of them.
const (
	gemmDepth = 64
	gemmPlane = 64 * 20 * 4
)

// gemmTiles is the number of 64×64 tiles of a product.
func gemmTiles(p MatMul) int { return ((p.M-1)/64 + 1) * ((p.N-1)/64 + 1) }

func typeName(width int) (string, error) {
	switch width {
	case 1:
		return "i8", nil
	case 2:
		return "i16", nil
	case 4:
		return "i32", nil
	}
	return "", fmt.Errorf("integers of %d bytes", width)
}

// launchForward launches a kernel of the group with arguments of the types Ptr,
// int and int64.
func launchForward(d Device, name string, l Launch, args ...any) error {
	return launchOf(d, Kernel{"forward", name}, l, args...)
}

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

// Random fills 8·n bytes with a pseudo-random sequence that depends on the seed.
func Random(d Device, dst Ptr, n int, seed uint64) error {
	if n < 1 || dst == 0 {
		return fmt.Errorf("%d words of random bytes", n)
	}
	return launchForward(d, "forward_random", Cover(n), dst, n, int64(seed))
}

// NarrowInt8 sets dst[r·columns + c] = a[r·stride + c], a of int32 and dst of
// int8.
func NarrowInt8(d Device, dst, a Ptr, rows, columns, stride int) error {
	if rows < 1 || columns < 1 || stride < columns || dst == 0 || a == 0 {
		return fmt.Errorf("%d × %d of %d entries to narrow", rows, columns, stride)
	}
	return launchForward(d, "forward_narrow_i8", Cover(rows*columns), dst, a, rows, columns, stride)
}
