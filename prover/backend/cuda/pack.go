package cuda

import (
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/model"
)

// packer writes rows of a stack from the dense tensors on the device, or from the
// host's if there is no room for them.
type packer struct {
	a                     *scope
	stack                 backend.Stack
	host                  *cpu.Rows
	offsets, blocks, axes kernels.Ptr
	count                 int
}

func (b *Backend) newPacker(a *scope, s backend.Stack) *packer {
	var offsets []uint64
	var blocks []kernels.StackBlock
	var axes []kernels.StackAxis
	for i := range s.Layout.Blocks {
		blk := &s.Layout.Blocks[i]
		t, err := b.find(blk.Tensor)
		if errors.Is(err, kernels.ErrMemory) {
			return &packer{a: a, stack: s, host: cpu.NewRows(b.g, b.w, s)}
		}
		check(err)
		k, own := describe(blk, b.g.Tensors[blk.Tensor].Shape, t)
		k.FirstAxis = uint64(len(axes))
		offsets, blocks, axes = append(offsets, blk.Offset), append(blocks, k), append(axes, own...)
	}
	offsets = append(offsets, s.Layout.Size)
	if len(axes) == 0 {
		axes = make([]kernels.StackAxis, 1) // there is no empty memory
	}
	return &packer{a: a, stack: s, offsets: newCopy(a, offsets), blocks: newCopy(a, blocks), axes: newCopy(a, axes), count: len(blocks)}
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

// rows writes n rows from row first on to dst.
func (p *packer) rows(dst kernels.Ptr, first, n int) {
	vars := p.stack.RowVars
	if p.host == nil {
		check(kernels.PackStack(p.a, dst, uint64(first)<<vars, n<<vars, p.offsets, p.blocks, p.count, p.axes))
		return
	}
	row := make([]int32, 1<<vars)
	for i := range n {
		p.host.FillRow(first+i, row)
		check(kernels.UploadSlice(p.a, kernels.At[int32](dst, i<<vars), row))
	}
}
