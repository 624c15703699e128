package cuda

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/model"
)

// packer writes rows of a commitment from the dense tensors on the device, or from
// the host's if there is no room for them.
type packer struct {
	a      *scope
	c      backend.Commitment
	host   *cpu.Rows
	stacks []*deviceStack // by group
}

// deviceStack is a stack whose tensors are on the device.
type deviceStack struct {
	offsets, blocks, axes kernels.Ptr
	count                 int
}

func (b *Backend) newPacker(a *scope, c backend.Commitment) *packer {
	p := &packer{a: a, c: c}
	for i, part := range c.Parts {
		if i > 0 && part.Stack == c.Parts[i-1].Stack {
			p.stacks = append(p.stacks, p.stacks[i-1])
			continue
		}
		s, err := b.newDeviceStack(a, part.Stack)
		if errors.Is(err, kernels.ErrMemory) {
			return &packer{a: a, c: c, host: cpu.NewRows(b.g, b.w, c)}
		}
		check(err)
		p.stacks = append(p.stacks, s)
	}
	return p
}

// newDeviceStack returns the error of a tensor that cannot be had.
func (b *Backend) newDeviceStack(a *scope, s *model.Stack) (*deviceStack, error) {
	var offsets []uint64
	var blocks []kernels.StackBlock
	var axes []kernels.StackAxis
	for i := range s.Blocks {
		blk := &s.Blocks[i]
		t, err := b.find(blk.Tensor)
		if err != nil {
			return nil, err
		}
		k, own := describe(blk, b.g.Tensors[blk.Tensor].Shape, t)
		k.FirstAxis = uint64(len(axes))
		offsets, blocks, axes = append(offsets, blk.Offset), append(blocks, k), append(axes, own...)
	}
	offsets = append(offsets, s.Size)
	if len(axes) == 0 {
		axes = make([]kernels.StackAxis, 1) // there is no empty memory
	}
	return &deviceStack{newCopy(a, offsets), newCopy(a, blocks), newCopy(a, axes), len(blocks)}, nil
}

// describe returns a block of a tensor of the given shape and its axes, the last
// first (compare model.Stack.Fill).
func describe(b *model.Block, shape []int, t *Tensor) (kernels.StackBlock, []kernels.StackAxis) {
	k := kernels.StackBlock{Values: t.Ptr, Width: uint64(t.Width)}
	var axes []kernels.StackAxis
	stride, contiguous := 1, true
	for a := len(shape) - 1; a >= 0; a-- {
		p := b.Parts[a]
		k.Values += kernels.Ptr(p.Start * stride * t.Width)
		if contiguous {
			k.Run += uint64(p.Bits)
		} else {
			axes = append(axes, kernels.StackAxis{Bits: uint64(p.Bits), Stride: uint64(stride)})
		}
		contiguous = contiguous && p.Start == 0 && 1<<p.Bits == shape[a]
		stride *= shape[a]
	}
	k.Axes = uint64(len(axes))
	return k, axes
}

// rows writes n rows of a group, from row first of it on, to dst.
func (p *packer) rows(dst kernels.Ptr, group, first, n int) {
	vars := p.c.RowVars
	if p.host == nil {
		from := uint64(p.c.Parts[group].First+first) << vars
		p.pack(dst, n, group, kernels.StackRows{RowVars: uint64(vars), Rows: uint64(n), From: from})
		return
	}
	for _, g := range p.c.Groups[:group] {
		first += g.Rows
	}
	row := make([]int32, 1<<vars)
	for i := range n {
		p.host.FillRow(first+i, row)
		check(kernels.UploadSlice(p.a, kernels.At[int32](dst, i<<vars), row))
	}
}

// tableRows writes the table rows with the given numbers (whir.Layout.TableRows) to
// dst, one after the other.
func (p *packer) tableRows(dst kernels.Ptr, numbers []uint64, shift int) {
	vars := p.c.RowVars + shift
	if p.host != nil {
		row := make([]int32, 1<<vars)
		for i, r := range numbers {
			p.c.FillTableRow(p.host, shift, r, row)
			check(kernels.UploadSlice(p.a, kernels.At[int32](dst, i<<vars), row))
		}
		return
	}
	if shift > 0 { // slots without a row
		check(p.a.Clear(dst, len(numbers)*kernels.SizeM31<<vars))
	}
	for i, g := range p.c.Groups {
		first, last := g.First>>shift, (g.First+uint64(g.Rows)-1)>>shift
		at, _ := slices.BinarySearch(numbers, first)
		p.pack(dst.Offset(at<<vars, kernels.SizeM31), int(last-first)+1, i, kernels.StackRows{
			RowVars: uint64(p.c.RowVars), Shift: uint64(shift), First: g.First - first<<shift, Rows: uint64(g.Rows),
			From: uint64(p.c.Parts[i].First) << p.c.RowVars,
		})
	}
}

func (p *packer) pack(dst kernels.Ptr, n, group int, r kernels.StackRows) {
	s := p.stacks[group]
	check(kernels.PackStack(p.a, dst, n, r, s.offsets, s.blocks, s.count, s.axes))
}
