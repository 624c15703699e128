package open

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// packer writes rows of a commitment from the dense tensors on the device, or from
// the host's if there is no room for them.
type packer struct {
	a      *device.Scope
	C      backend.Commitment
	host   *cpu.Rows
	stacks []*stack // by group

	leaving bool // the tensors do not stay: rows that are in them as they are have to be packed too
}

// stack is a stack whose tensors are on the device, as kernels.PackStack takes it, with its description there.
type stack struct {
	offsets []uint64
	blocks  []kernels.StackBlock
	ranges  []valueRange // of the blocks' entries
	axes    []kernels.StackAxis
	device  kernels.Stack
}

// A finder returns where a tensor is.
type finder func(model.TensorID) (*device.Tensor, error)

// newPacker returns one for rows of these groups, in their order, with tensors that find returns.
func newPacker(b *run.Stream, a *device.Scope, c backend.Commitment, groups []int, find finder) *packer {
	stacks, err := stacksOf(b.Graph, &c, groups, find)
	if errors.Is(err, kernels.ErrMemory) {
		p := expectedPacker(b.Graph, &c, groups)
		p.a, p.host = a, cpu.NewRows(b.Graph, b.Witness, c)
		return p
	}
	device.Check(err)
	for _, i := range groups {
		s := stacks[i]
		if s.device.Count > 0 { // a group before it has the same
			continue
		}
		if c.Parts[i].Kind != backend.Tensors {
			s.blocks[0].Values = secretValues(a, &c, i, s)
		}
		s.device = kernels.Stack{Offsets: device.NewCopy(a, s.offsets), Blocks: device.NewCopy(a, s.blocks), Axes: device.NewCopy(a, s.axes), Count: len(s.blocks)}
	}
	return &packer{a: a, C: c, stacks: stacks}
}

// expectedPacker returns one that finds rows alone, as wide as the ranges of tensors need.
func expectedPacker(g *model.Graph, c *backend.Commitment, groups []int) *packer {
	stacks, err := stacksOf(g, c, groups, func(id model.TensorID) (*device.Tensor, error) {
		return &device.Tensor{Width: device.WidthOfRange(g.Tensors[id].Min, g.Tensors[id].Max)}, nil
	})
	device.Check(err) // there is none
	return &packer{C: *c, stacks: stacks, leaving: true}
}

// stacksOf describes the stacks of groups as far as these have entries, one for groups of a stack that are behind each other. The error is
// that of a tensor that cannot be had.
func stacksOf(g *model.Graph, c *backend.Commitment, groups []int, find finder) ([]*stack, error) {
	stacks := make([]*stack, len(c.Groups))
	for from := 0; from < len(groups); {
		first, to := groups[from], from+1
		part := &c.Parts[first]
		if part.Kind != backend.Tensors {
			stacks[first] = secretStack(c, first)
			from++
			continue
		}
		for to < len(groups) && groups[to] == first+to-from && c.Parts[groups[to]].Stack == part.Stack {
			to++
		}
		last := groups[to-1]
		s, err := newStack(g, part.Stack, uint64(part.First)<<c.RowVars, uint64(c.Parts[last].First+c.Groups[last].Rows)<<c.RowVars, find)
		if err != nil {
			return nil, err
		}
		for ; from < to; from++ {
			stacks[groups[from]] = s
		}
	}
	return stacks, nil
}

// newStack describes a stack of g's tensors, without blocks that have no entries from
// begin to end-1, before and behind those that have.
func newStack(g *model.Graph, s *model.Stack, begin, end uint64, find finder) (*stack, error) {
	h := &stack{}
	next := s.Size
	for i := range s.Blocks {
		blk := &s.Blocks[i]
		if i+1 < len(s.Blocks) && s.Blocks[i+1].Offset <= begin {
			continue
		}
		if blk.Offset >= end {
			next = blk.Offset
			break
		}
		t, err := find(blk.Tensor)
		if err != nil {
			return nil, err
		}
		k, own := describe(blk, g.Tensors[blk.Tensor].Shape, t)
		k.FirstAxis = uint64(len(h.axes))
		h.offsets, h.blocks, h.axes = append(h.offsets, blk.Offset), append(h.blocks, k), append(h.axes, own...)
		h.ranges = append(h.ranges, rangeOf(&g.Tensors[blk.Tensor], t.Width))
	}
	h.offsets = append(h.offsets, next)
	if len(h.axes) == 0 {
		h.axes = make([]kernels.StackAxis, 1) // there is no empty memory
	}
	return h, nil
}

// block returns the number of the block that has an entry of the stack.
func (h *stack) block(entry uint64) int {
	i, ok := slices.BinarySearch(h.offsets, entry)
	if !ok {
		i--
	}
	return i
}

// valueRange bounds n entries.
func (h *stack) valueRange(from, n uint64) (r valueRange) {
	for k := h.block(from); k < len(h.blocks) && h.offsets[k] < from+n; k++ {
		r = r.or(h.ranges[k])
	}
	return r
}

// rowAlignment is that of rows that kernels read 16 bytes at a time.
const rowAlignment = 16

// InPlace returns the address of n entries, a power of two, if they lie one behind the
// other as bytes, and are aligned as a row is.
func (h *stack) inPlace(from, n uint64) (kernels.Ptr, bool) {
	k := h.block(from)
	if k >= len(h.blocks) || from+n > h.offsets[k+1] {
		return 0, false
	}
	b := &h.blocks[k]
	if b.Width != 1 || uint64(1)<<b.Run < n {
		return 0, false
	}
	e := from - h.offsets[k]
	at := b.Values + kernels.Ptr(e&(1<<b.Run-1))
	e >>= b.Run
	for _, axis := range h.axes[b.FirstAxis : b.FirstAxis+b.Axes] {
		at += kernels.Ptr(e & (1<<axis.Bits - 1) * axis.Stride)
		e >>= axis.Bits
	}
	return at, at%rowAlignment == 0
}

// describe returns a block of a tensor of the given shape and its axes, the last
// first (compare model.Stack.Fill).
func describe(b *model.Block, shape []int, t *device.Tensor) (kernels.StackBlock, []kernels.StackAxis) {
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

// rows writes n rows of a group, from row first of it on, to dst, in 32 bits.
func (p *packer) rows(dst kernels.Ptr, group, first, n int) {
	vars := p.C.RowVars
	if p.host == nil {
		device.Check(kernels.PackStack(p.a, dst, n<<vars, uint64(p.C.Parts[group].First+first)<<vars, p.stacks[group].device))
		return
	}
	first += rowsBefore(&p.C, group)
	row := make([]int32, 1<<vars)
	for i := range n {
		p.host.FillRow(first+i, 0, row)
		device.Check(kernels.UploadSlice(p.a, kernels.At[int32](dst, i<<vars), row))
	}
}
