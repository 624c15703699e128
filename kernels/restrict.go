package kernels

import (
	"fmt"
)

// Integers is a dense array of signed integers on the device, Width bytes each:
// 1, 2 or 4.
type Integers struct {
	At    Ptr
	Width int
}

func (v Integers) suffix() (string, error) {
	switch v.Width {
	case 1:
		return "i8", nil
	case 2:
		return "i16", nil
	case 4:
		return "i32", nil
	}
	return "", fmt.Errorf("integers of %d bytes", v.Width)
}

// Binding is the middle axes of a tensor of Outer × N × Inner entries, to be
// bound to N weights (QM31) at Weights.
type Binding struct {
	Outer, N, Inner int
	Weights         Ptr
	// NoTensor keeps the work off the tensor cores, for comparisons.
	NoTensor bool
}

func (b *Binding) check() error {
	if b.Outer < 1 || b.N < 1 || b.Inner < 1 || b.Outer > 1<<40/b.N/b.Inner {
		return fmt.Errorf("binding of %d × %d × %d entries", b.Outer, b.N, b.Inner)
	}
	return nil
}

// A block's part of the bound index. Sums of unreduced products hold for
// maxChunk terms; shorter parts than minChunk cost more for the sums that the
// blocks add up than they spread the work.
const (
	minChunk = 1 << 8
	maxChunk = 1 << 13
)

// parts cuts n indices into parts of a multiple of 64 so that about sumBlocks
// blocks have work where each part takes `blocks`.
func parts(n, blocks int) (chunk, count int) {
	want := max(1, 2*sumBlocks/max(blocks, 1))
	chunk = min(max((n+want-1)/want, minChunk), maxChunk)
	chunk = (chunk + 63) / 64 * 64
	return chunk, (n + chunk - 1) / chunk
}

// RestrictInt sets the Outer·Inner elements of K at out to
// Σ_d Weights[d]·in[p][d][s].
func RestrictInt(d Device, out Ptr, in Integers, b Binding) error {
	suffix, err := in.suffix()
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return err
	}
	// Rows of the matrix that the tensor cores read must be aligned.
	row := b.Inner
	if b.Inner == 1 {
		row = b.N
	}
	if in.Width == 1 && row%16 == 0 && b.N >= 32 && !b.NoTensor {
		return restrictTensor(d, out, in.At, b)
	}
	return withSums(d, out, b.Outer*b.Inner, func(sums Ptr) error {
		if b.Inner == 1 {
			const rows = 8 // ROWS
			blocks := (b.Outer + rows - 1) / rows
			chunk, count := parts(b.N, blocks)
			return d.Launch(Kernel{"restrict", "restrict_rows_" + suffix}, Launch{GridX: blocks, GridY: count, Block: sumBlock},
				uint64(sums), uint64(in.At), uint64(b.Weights), uint64(b.Outer), uint64(b.N), uint64(chunk))
		}
		l, chunk := b.columns((b.Inner + 3) / 4)
		return d.Launch(Kernel{"restrict", "restrict_columns_" + suffix}, l, uint64(sums), uint64(in.At), uint64(b.Weights),
			uint64(b.Outer), uint64(b.N), uint64(b.Inner), uint64(chunk))
	})
}

// RestrictField is RestrictInt for a table of elements of K.
func RestrictField(d Device, out, in Ptr, b Binding) error {
	if err := b.check(); err != nil {
		return err
	}
	return withSums(d, out, b.Outer*b.Inner, func(sums Ptr) error {
		l, chunk := b.columns(b.Inner)
		return d.Launch(Kernel{"restrict", "restrict_columns_k"}, l, uint64(sums), uint64(in), uint64(b.Weights),
			uint64(b.Outer), uint64(b.N), uint64(b.Inner), uint64(chunk))
	})
}

// columns is a launch of a thread for each of `pieces` pieces of a row.
func (b *Binding) columns(pieces int) (l Launch, chunk int) {
	blocks := (b.Outer*pieces + sumBlock - 1) / sumBlock
	chunk, count := parts(b.N, blocks)
	return Launch{GridX: blocks, GridY: count, Block: sumBlock}, chunk
}

// withSums lets f add to n sums of zero and sets out to what they stand for.
func withSums(d Device, out Ptr, n int, f func(sums Ptr) error) error {
	sums, err := AllocSlice[uint64](d, SumWords*n)
	if err != nil {
		return err
	}
	defer d.Free(sums)
	if err := d.Clear(sums, 8*SumWords*n); err != nil {
		return err
	}
	if err := f(sums); err != nil {
		return err
	}
	return d.Launch(Kernel{"restrict", "restrict_finish"}, Cover(n), uint64(out), uint64(sums), uint64(n))
}

// restrictTensor is RestrictInt on the tensor cores, for int8.
func restrictTensor(d Device, out, in Ptr, b Binding) error {
	packed, err := AllocSlice[uint32](d, (b.N+63)/64*256)
	if err != nil {
		return err
	}
	defer d.Free(packed)
	err = d.Launch(Kernel{"restrict", "restrict_pack"}, Cover((b.N+63)/64*256), uint64(packed), uint64(b.Weights), uint64(b.N))
	if err != nil {
		return err
	}
	return withSums(d, out, b.Outer*b.Inner, func(sums Ptr) error {
		if b.Inner == 1 {
			const warps, rows = 8, 32 // rows a warp: 8·ROW_TILES
			blocks := (b.Outer + warps*rows - 1) / (warps * rows)
			chunk, count := parts(b.N, blocks)
			return d.Launch(Kernel{"restrict", "restrict_rows_tensor"}, Launch{GridX: blocks, GridY: count, Block: 32 * warps},
				uint64(sums), uint64(in), uint64(packed), uint64(b.Outer), uint64(b.N), uint64(chunk))
		}
		const warps, columns = 4, 128
		blocks := (b.Outer*((b.Inner+columns-1)/columns) + warps - 1) / warps
		chunk, count := parts(b.N, blocks)
		return d.Launch(Kernel{"restrict", "restrict_columns_tensor"}, Launch{GridX: blocks, GridY: count, Block: 32 * warps},
			uint64(sums), uint64(in), uint64(packed), uint64(b.Outer), uint64(b.N), uint64(b.Inner), uint64(chunk))
	})
}

// Layout is a tensor's axes in the order of a table: dimensions, and steps in
// the dense tensor. Every axis is padded to a power of two in the table.
type Layout struct{ Dims, Steps []int }

// ArrangeInt writes the table of the layout's MLE, PaddedSize(Dims) elements of
// K, from integers.
func ArrangeInt(d Device, out Ptr, in Integers, l Layout) error {
	suffix, err := in.suffix()
	if err != nil {
		return err
	}
	return l.arrange(d, "restrict_arrange_"+suffix, out, in.At)
}

// ArrangeField is ArrangeInt for elements of K.
func ArrangeField(d Device, out, in Ptr, l Layout) error {
	return l.arrange(d, "restrict_arrange_k", out, in)
}

func (l Layout) arrange(d Device, kernel string, out, in Ptr) error {
	dims, _, err := axes(l.Dims)
	if err != nil {
		return err
	}
	if len(l.Steps) != len(l.Dims) {
		return fmt.Errorf("%d dimensions and %d steps", len(l.Dims), len(l.Steps))
	}
	steps := make([]uint64, MaxAxes)
	for i, s := range l.Steps {
		steps[MaxAxes-len(l.Steps)+i] = uint64(s)
	}
	n := PaddedSize(l.Dims)
	args := append([]uint64{uint64(out), uint64(in), uint64(n)}, dims...)
	return d.Launch(Kernel{"restrict", kernel}, Cover(n), append(args, steps...)...)
}
