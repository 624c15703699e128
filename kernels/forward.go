package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/model"
)

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
	// XBits says that |A| < 2^XBits, 31 if nothing is known.
	XBits int
}

// MaxBatches is the most products of matrices at once; of single entries there
// may be any number.
const MaxBatches = 1<<16 - 1

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
	if p.M == 1 && p.N == 1 && p.K == 1 {
		return launchForward(d, "forward_elementwise", Cover(p.Batches), p.Acc, p.A.Ptr, p.A.Width, p.B.Ptr, p.B.Width,
			p.Batches, p.A.Batch, p.B.Batch, p.OutBatch, p.Coef)
	}
	vector := p.M == 1 && p.Batches == 1 && p.A.Width == 4 && p.A.Column == 1
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
	case p.Batches == 1 && typeA == "i8" && typeB == "i8" && rows && p.A.Column == 1 && p.A.Row == p.K && p.K%16 == 0 && p.K <= maxGemmI8:
		return launchForward(d, "forward_gemm_i8", Launch{GridX: gemmTiles(p), Block: 128},
			p.Acc, p.A.Ptr, p.B.Ptr, p.M, p.N, p.K, p.OutRow, p.OutColumn, p.Coef)
	}
	if p.Batches > MaxBatches {
		return fmt.Errorf("%d products at once", p.Batches)
	}
	return launchForward(d, "forward_gemm", Launch{GridX: gemmTiles(p), GridY: p.Batches, Block: block},
		p.Acc, p.A.Ptr, p.A.Width, p.B.Ptr, p.B.Width, p.M, p.N, p.K, p.A.Row, p.A.Column, p.B.Row, p.B.Column,
		p.OutRow, p.OutColumn, p.A.Batch, p.B.Batch, p.OutBatch, p.Coef)
}

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
	return d.Launch(Kernel{"forward", name}, l, words...)
}

// A Lookup is a look-up step on N accumulators, Acc of int64: see model.Step
// and model.Table. Keys, Out, Lo (N of int32 each; Out and Lo may be 0) are
// set, Counts, of int32 by row of the table, is added to.
type Lookup struct {
	Acc                   Ptr
	N, Shift              int
	Table                 *model.Table
	Pieces                Ptr // what UploadPieces returned; 0 but for TablePiecewise
	Values                Ptr // by row; 0 but for TableFunc
	ValueWidth            int // bytes of each: 1, 2 or 4
	Keys, Out, Lo, Counts Ptr
	// Bad, of uint32, becomes 1 if an accumulator is not within ±2^30 or a key
	// not in the table. The results are undefined then.
	Bad Ptr
}

// LookUp runs the step.
func LookUp(d Device, l Lookup) error {
	t := l.Table
	if l.N < 1 || l.Shift < 0 || l.Shift > model.MaxShift || l.Acc == 0 || l.Keys == 0 || l.Counts == 0 || l.Bad == 0 {
		return fmt.Errorf("a look-up of %d entries, shifted by %d, without memory", l.N, l.Shift)
	}
	out, pieces := l.Out, 0
	switch t.Kind {
	case model.TableRange:
		if out != 0 {
			return fmt.Errorf("table %q has no values to look up", t.Name)
		}
	case model.TablePiecewise:
		pieces = len(t.Pieces)
		if out != 0 && (l.Pieces == 0 || pieces == 0) {
			return fmt.Errorf("table %q without its pieces", t.Name)
		}
	case model.TableFunc:
		if _, err := typeName(l.ValueWidth); out != 0 && (l.Values == 0 || err != nil) {
			return fmt.Errorf("table %q without its values", t.Name)
		}
	}
	// A block that counts for itself must have more to count than to clear and to
	// add up, which is quicker by far.
	shape, local := Cover(l.N), 0
	rows, blocks := 1<<t.Bits, 2*d.Multiprocessors()
	if 4*rows <= maxLocalCounts && l.N/blocks >= rows/8 {
		shape, local = Launch{GridX: blocks, Block: 1024, Shared: 4 * rows}, 1
	}
	return launchForward(d, "forward_lookup", shape, l.Acc, l.N, l.Shift, t.Min, rows, l.Pieces, pieces,
		l.Values, l.ValueWidth, l.Keys, out, l.Lo, l.Counts, l.Bad, local)
}

// maxLocalCounts is the shared memory that a block may take for counts: two
// blocks fit a processor.
const maxLocalCounts = 96 << 10

// UploadPieces returns the pieces of a TablePiecewise table on the device.
func UploadPieces(d Device, t *model.Table) (Ptr, error) {
	flat := make([]int64, 0, 3*len(t.Pieces))
	for _, p := range t.Pieces {
		flat = append(flat, p.End, p.Slope, p.Offset)
	}
	return NewSlice(d, flat)
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
