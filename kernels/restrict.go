package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
)

// Integers is a dense array of signed integers on the device. Width is the size of one
// in bytes: 1, 2 or 4.
type Integers struct {
	At    Ptr
	Width int
}

// typeName returns the name of integers of that many bytes in the names of kernels.
func typeName(width int) (string, error) {
	if width != 1 && width != 2 && width != 4 {
		return "", fmt.Errorf("integers of %d bytes", width)
	}
	return fmt.Sprintf("i%d", 8*width), nil
}

// Binding describes the middle axes of a tensor of Outer × N × Inner entries, which are
// bound to N weights in QM31, at Weights.
type Binding struct {
	Outer, N, Inner int
	Weights         Ptr
	// NoTensor keeps the work off the tensor cores, for comparisons in benchmarks and tests.
	NoTensor bool
}

// check refuses sizes that kernels do not take.
func (b *Binding) check() error {
	if b.Outer < 1 || b.N < 1 || b.Inner < 1 || b.Outer > 1<<40/b.N/b.Inner {
		return fmt.Errorf("binding of %d × %d × %d entries", b.Outer, b.N, b.Inner)
	}
	return nil
}

// parts divides n indices into `count` parts of `chunk` indices. chunk is a multiple of
// unit, and at most `most`. With `blocks` blocks for each part there are about `want`
// blocks in all.
func parts(n, blocks, want, unit, most int) (chunk, count int) {
	chunk = max(1, n*blocks/want)
	chunk = min((chunk+unit-1)/unit*unit, most)
	return chunk, (n + chunk - 1) / chunk
}

// maxTerms is how many products a thread may add up before it must reduce the sum (add_product).
const maxTerms = 1 << 13

// RestrictInt binds the middle axes of a tensor of integers: it sets the Outer·Inner
// elements of K at out to Σ_d Weights[d]·in[p][d][s], for p < Outer and s < Inner.
func RestrictInt(d Device, out Ptr, in Integers, b Binding) (err error) {
	defer must.Catch(&err)
	suffix := must.Get(typeName(in.Width))
	must.OK(b.check())
	// The tensor cores read rows of the matrix that must be aligned to 16 bytes.
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
			chunk, count := parts(b.N, blocks, sumBlocks, 4*sumBlock, 4*sumBlock*maxTerms/4)
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

// columns is a launch with a thread for each of `pieces` pieces of a row of Inner entries.
func (b *Binding) columns(pieces int) (l Launch, chunk int) {
	blocks := (b.Outer*pieces + sumBlock - 1) / sumBlock
	chunk, count := parts(b.N, blocks, sumBlocks, 64, maxTerms)
	return Launch{GridX: blocks, GridY: count, Block: sumBlock}, chunk
}

// withSums allocates n sums, which are zero, lets f add to them, and sets the n elements of K at out to the sums
// reduced modulo p.
func withSums(d Device, out Ptr, n int, f func(sums Ptr) error) (err error) {
	defer must.Catch(&err)
	sums := must.Get(AllocSlice[uint64](d, SumWords*n))
	defer d.Free(sums)
	must.OK(d.Clear(sums, 8*SumWords*n))
	must.OK(f(sums))
	return d.Launch(Kernel{"restrict", "restrict_finish"}, Cover(n), uint64(out), uint64(sums), uint64(n))
}

// restrictTensor is RestrictInt on the tensor cores, for integers of 8 bits.
func restrictTensor(d Device, out, in Ptr, b Binding) (err error) {
	defer must.Catch(&err)
	packed := must.Get(AllocSlice[uint32](d, (b.N+63)/64*256))
	defer d.Free(packed)
	must.OK(d.Launch(Kernel{"restrict", "restrict_pack"}, Cover((b.N+63)/64*256), uint64(packed), uint64(b.Weights), uint64(b.N)))
	// A product of two signed bytes is below 2^15 in absolute value, so a sum of 2^16 of them fits into an int32.
	const maxTerms = 1 << 16
	var k Kernel
	var l Launch
	var chunk int
	args := []uint64{uint64(in), uint64(packed)}
	if b.Inner == 1 {
		const warps, rows = 8, 32 // rows of a block: 8·ROW_TILES
		k = Kernel{"restrict", "restrict_rows_tensor"}
		l = Launch{GridX: (b.Outer + rows - 1) / rows, Block: 32 * warps}
		chunk, l.GridY = parts(b.N, l.GridX, rowBlocks, 64*warps, maxTerms)
		args = append(args, uint64(b.Outer), uint64(b.N), uint64(chunk))
	} else {
		const warps, columns = 4, 128
		k = Kernel{"restrict", "restrict_columns_tensor"}
		l = Launch{GridX: b.Outer * ((b.Inner + columns - 1) / columns), Block: 32 * warps}
		chunk, l.GridY = parts(b.N, l.GridX, columnBlocks, 64*warps, maxTerms)
		args = append(args, uint64(b.Outer), uint64(b.N), uint64(b.Inner), uint64(chunk))
	}
	if l.GridY == 1 {
		return d.Launch(k, l, append([]uint64{uint64(out), 0}, args...)...)
	}
	return withSums(d, out, b.Outer*b.Inner, func(sums Ptr) error {
		return d.Launch(k, l, append([]uint64{0, uint64(sums)}, args...)...)
	})
}

// rowBlocks and columnBlocks are how many blocks of the two kernels on tensor cores run
// at once on a device of 132 processors. More parts than give these numbers of blocks
// are of no use.
const (
	rowBlocks    = 132 * 4
	columnBlocks = 132 * 3
)

// Layout describes the axes of a tensor in the order of a table: their dimensions, and
// the steps between neighbours in the dense tensor. In the table every axis is padded
// to a power of two.
type Layout struct{ Dims, Steps []int }

// ArrangeInt writes the table of the MLE of a tensor of integers, in the order of the
// layout: PaddedSize(Dims) elements of K.
func ArrangeInt(d Device, out Ptr, in Integers, l Layout) (err error) {
	defer must.Catch(&err)
	return l.arrange(d, "restrict_arrange_"+must.Get(typeName(in.Width)), out, in.At)
}

// ArrangeField is ArrangeInt for elements of K.
func ArrangeField(d Device, out, in Ptr, l Layout) error {
	return l.arrange(d, "restrict_arrange_k", out, in)
}

func (l Layout) arrange(d Device, kernel string, out, in Ptr) error {
	dims, steps, err := l.words()
	if err != nil {
		return err
	}
	n := PaddedSize(l.Dims)
	args := append([]uint64{uint64(out), uint64(in), uint64(n)}, dims...)
	return d.Launch(Kernel{"restrict", kernel}, Cover(n), append(args, steps...)...)
}

// words returns the dimensions and the steps as arguments of kernels.
func (l Layout) words() (dims, steps []uint64, err error) {
	if dims, _, err = axes(l.Dims); err != nil {
		return nil, nil, err
	}
	if len(l.Steps) != len(l.Dims) {
		return nil, nil, fmt.Errorf("%d dimensions and %d steps", len(l.Dims), len(l.Steps))
	}
	steps = make([]uint64, MaxAxes)
	for i, s := range l.Steps {
		steps[MaxAxes-len(l.Steps)+i] = uint64(s)
	}
	return dims, steps, nil
}
