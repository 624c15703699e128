package open

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// packer writes rows of a commitment: from tensors on the device, or if there is no room for them from
// tensors in the host's memory.
type packer struct {
	a      *device.Scope
	C      backend.Commitment
	host   *cpu.Rows // the rows in the host's memory, if the tensors are not on the device; else nil
	stacks []*stack  // by group; nil for groups that the packer was not made for

	leaving bool // the tensors do not stay, so rows that lie in a tensor as they are have to be copied too
}

// stack describes a stack whose tensors are on the device, for kernels.PackStack. The description is on the device too.
type stack struct {
	offsets []uint64             // of the blocks in the stack, and the end of the last one
	blocks  []kernels.StackBlock // without those that have no entries in the groups
	ranges  []valueRange         // by block: bounds of its entries
	axes    []kernels.StackAxis  // of all blocks
	device  kernels.Stack
}

// A finder returns a tensor on the device.
type finder func(model.TensorID) (*device.Tensor, error)

// newPacker returns a packer for rows of these groups, which are increasing, with the tensors that find returns.
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
		if s.device.Count > 0 { // uploaded already, for an earlier group of the same stack
			continue
		}
		if c.Parts[i].Kind != backend.Tensors {
			s.blocks[0].Values = secretValues(a, &c, i, s)
		}
		s.device = kernels.Stack{Offsets: device.NewCopy(a, s.offsets), Blocks: device.NewCopy(a, s.blocks), Count: len(s.blocks)}
		s.device.Axes = device.NewCopy(a, append(s.axes, kernels.StackAxis{})) // one more, since an allocation must not be empty
	}
	return &packer{a: a, C: c, stacks: stacks}
}

// expectedPacker returns a packer without memory, which can only find rows (findRows). Tensors have the widths of their ranges.
func expectedPacker(g *model.Graph, c *backend.Commitment, groups []int) *packer {
	stacks, err := stacksOf(g, c, groups, func(id model.TensorID) (*device.Tensor, error) {
		return &device.Tensor{Width: device.WidthOfRange(g.Tensors[id].Min, g.Tensors[id].Max)}, nil
	})
	device.Check(err) // never an error: the finder above has none
	return &packer{C: *c, stacks: stacks, leaving: true}
}

// stacksOf describes the stacks of groups, by group, with the blocks of which the groups have entries. Consecutive groups of one stack
// share a description. An error is one of find.
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
		end := c.Parts[last].First + c.Groups[last].Rows
		s, err := newStack(g, part.Stack, uint64(part.First)<<c.RowVars, uint64(end)<<c.RowVars, find)
		if err != nil {
			return nil, err
		}
		for ; from < to; from++ {
			stacks[groups[from]] = s
		}
	}
	return stacks, nil
}

// newStack describes a stack of g's tensors. It leaves out the blocks at its two ends that have no
// entries in begin … end−1.
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
	return h, nil
}

// block returns the index of the block that contains an entry of the stack.
func (h *stack) block(entry uint64) int {
	i, ok := slices.BinarySearch(h.offsets, entry)
	if !ok {
		i--
	}
	return i
}

// valueRange returns bounds of the n entries from entry `from` on.
func (h *stack) valueRange(from, n uint64) (r valueRange) {
	for k := h.block(from); k < len(h.blocks) && h.offsets[k] < from+n; k++ {
		r = r.or(h.ranges[k])
	}
	return r
}

// rowAlignment is the alignment of rows in bytes, as kernels read 16 bytes at a time.
const rowAlignment = 16

// inPlace returns the address of the n entries from entry `from` on, n a power of two, if they lie in one
// tensor as consecutive bytes, aligned as a row must be. Then the row need not be packed.
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

// describe returns the description of a block of tensor t, of the given shape, and the block's axes, the
// last first (compare model.Stack.Fill). Axes at the end along which the block is contiguous in memory are not listed: they are one
// run of 2^Run entries.
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

// rows writes n rows of a group, from its row `first` on, to dst, in 32 bits an entry.
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

// A ByteRow is a row on the device in planes of bytes (kernels.ByteRows): plane j has byte j of all
// entries. The zero value is a row of zeros, without planes.
type ByteRow struct {
	At      kernels.Ptr // 0 if the row is not packed yet (Pending)
	Width   int         // planes
	Natural bool        // no entry is negative (kernels.ByteRows)
}

// bias is the constant that is added to Σ_j 256^j·(byte j) to give an entry: bytes are stored less 128, so that they are signed.
func (r ByteRow) bias() uint32 { return kernels.PlaneBias(r.Width, r.Natural) }

// valueRange bounds the entries of rows: lo ≤ 0 ≤ hi in general, as rows may also have zeros.
type valueRange struct{ lo, hi int64 }

// rangeOf returns bounds of the entries of a tensor that is on the device with so many bytes an entry: those of the width, and of the
// tensor's stated range if a run has checked it, as it does for all but fixed tensors.
func rangeOf(t *model.Tensor, width int) valueRange {
	half := int64(1) << (8*width - 1)
	r := valueRange{-half, half - 1}
	if t.Kind != model.Fixed && (t.Min != 0 || t.Max != 0) {
		r = valueRange{max(r.lo, t.Min), min(r.hi, t.Max)}
	}
	return r
}

// or returns the bounds of two ranges together.
func (r valueRange) or(x valueRange) valueRange { return valueRange{min(r.lo, x.lo), max(r.hi, x.hi)} }

// row returns a ByteRow without address for entries in the range, with as few planes as hold them.
func (r valueRange) row() ByteRow {
	w := 1
	for ; w < 4; w++ {
		if all := int64(1) << (8 * w); r.lo >= -all/2 && r.hi < all/2 {
			break
		} else if r.lo >= 0 && r.hi < all {
			return ByteRow{Width: w, Natural: true}
		}
	}
	return ByteRow{Width: w}
}

// appendPlanes appends the planes of a row to a list for kernels, all with the same target: where their products are added up. A row of
// zeros has none.
func (r ByteRow) appendPlanes(all []kernels.ByteRow, target, pitch int) []kernels.ByteRow {
	for j := range r.Width {
		all = append(all, kernels.ByteRow{Bytes: r.At.Offset(j, pitch), Target: uint32(target), Shift: uint32(8 * j)})
	}
	return all
}

// tableRows returns the table rows with the given numbers (whir.Layout.TableRows), which are
// increasing; 2^shift rows of the commitment make one table row. Rows that lie in a tensor as they are stay
// there. The others are packed into memory of a, in one allocation.
func (p *packer) tableRows(a *device.Scope, numbers []uint64, shift int) []ByteRow {
	if p.host != nil {
		return p.uploadRows(a, numbers, shift)
	}
	rows, size := p.findRows(numbers, shift), 0
	pitch := kernels.RowPitch(1 << (p.C.RowVars + shift))
	for _, r := range rows {
		if r.Pending() {
			size += r.Width * pitch
		}
	}
	if size == 0 {
		return rows
	}
	all := slices.DeleteFunc(p.shares(numbers, shift), func(x share) bool { return !rows[x.row].Pending() })
	at := device.NewArray[int8](a, size)
	for i, r := range rows {
		if r.Pending() {
			rows[i].At = at
			at = at.Offset(r.Width, pitch)
		}
	}
	p.pack(rows, all, shift, true) // zeros first, in whole rows: a table row may have slots in two groups, and slots without a row
	p.pack(rows, all, shift, false)
	return rows
}

// pack packs the shares of groups into rows. With zeros, it instead writes zeros to the whole of each row of which a share has not all
// slots.
func (p *packer) pack(rows []ByteRow, all []share, shift int, zeros bool) {
	var jobs []kernels.PackedRows
	var last share
	enqueue := func() {
		if len(jobs) > 0 {
			pitch := kernels.RowPitch(1 << (p.C.RowVars + shift))
			device.Check(kernels.PackPlanes(p.a, jobs, pitch, p.C.RowVars, shift, p.stacks[last.group].device))
		}
		jobs = jobs[:0]
	}
	for _, x := range all {
		if zeros && x.slots == 1<<shift {
			continue
		}
		row, s := rows[x.row], p.stacks[x.group]
		if s != p.stacks[last.group] {
			enqueue()
		}
		as := kernels.PackedRows{Dst: row.At, Width: uint64(row.Width), Rows: 1, First: x.first, Slots: x.slots, From: x.from}
		if row.Natural {
			as.Natural = 1
		}
		if zeros { // read from behind the end of the stack, where everything is zero
			as.First, as.Slots, as.From = 0, 1<<shift, s.offsets[len(s.offsets)-1]
		}
		n := len(jobs)
		if n > 0 && x.follows(last) && as.Width == jobs[n-1].Width && as.Natural == jobs[n-1].Natural { // one job packs both
			jobs[n-1].Rows++
			jobs[n-1].Slots += as.Slots
		} else {
			jobs = append(jobs, as)
		}
		last = x
	}
	enqueue()
}

// findRows returns the rows that tableRows returns, but leaves rows that must be packed pending. Rows from the host's memory get the
// width of their range.
func (p *packer) findRows(numbers []uint64, shift int) []ByteRow {
	vars := p.C.RowVars + shift
	rows, ranges := make([]ByteRow, len(numbers)), make([]valueRange, len(numbers))
	for _, x := range p.shares(numbers, shift) {
		s, n := p.stacks[x.group], x.slots<<p.C.RowVars
		if at, ok := s.inPlace(x.from, n); ok && !p.leaving && shift == 0 && 1<<vars == kernels.RowPitch(1<<vars) {
			rows[x.row] = ByteRow{At: at, Width: 1}
			continue
		}
		ranges[x.row] = ranges[x.row].or(s.valueRange(x.from, n))
		rows[x.row] = ranges[x.row].row()
	}
	return rows
}

// share is the part of a table row that belongs to one group. The table row is the one at index row of a list, and has that number.
// The group has `slots` of its slots, from slot `first` of the row on. Their values begin at entry `from` of the group's stack.
type share struct {
	row, group                 int
	number, first, slots, from uint64
}

// follows says whether x is directly behind last, in the list and in the table, in the same group.
func (x share) follows(last share) bool {
	return x.group == last.group && x.row == last.row+1 && x.number == last.number+1
}

// shares lists the shares of all table rows with the given numbers, by group. A table row may have shares of two groups.
func (p *packer) shares(numbers []uint64, shift int) []share {
	var all []share
	for i, g := range p.C.Groups {
		if p.stacks[i] == nil {
			continue
		}
		from, to := within(g, numbers, shift)
		for row := from; row < to; row++ {
			begin := numbers[row] << shift
			x := share{row: row, group: i, number: numbers[row], first: max(g.First, begin)}
			x.slots = min(g.First+uint64(g.Rows), begin+1<<shift) - x.first
			x.from = (uint64(p.C.Parts[i].First) + x.first - g.First) << p.C.RowVars
			x.first -= begin
			all = append(all, x)
		}
	}
	return all
}

// uploadRows is tableRows for tensors in the host's memory: it makes one row after the other there, and uploads it.
func (p *packer) uploadRows(a *device.Scope, numbers []uint64, shift int) []ByteRow {
	n := 1 << (p.C.RowVars + shift)
	pitch := kernels.RowPitch(n)
	values, wide := make([]int32, n), device.NewArray[int32](a, n)
	defer a.Free(wide)
	rows := make([]ByteRow, len(numbers))
	for i, r := range numbers {
		p.C.FillTableRow(p.host, shift, r, 0, values)
		w := ints.WidthOf(values)
		rows[i] = ByteRow{At: device.NewArray[int8](a, w*pitch), Width: w}
		device.Check(kernels.UploadSlice(a, wide, values))
		device.Check(kernels.SplitPlanes(a, rows[i].At, wide, kernels.ByteRows{Width: w, Pitch: pitch}, n))
	}
	return rows
}
