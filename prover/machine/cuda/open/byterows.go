package open

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// A ByteRow is a row on the device as kernels.ByteRows has it, in as many planes as its
// entries have bytes. The zero value is a row of zeros.
type ByteRow struct {
	At      kernels.Ptr
	Width   int
	Natural bool // it has no negative entries (kernels.ByteRows)
}

// bias is what the bytes of an entry of the row lack.
func (r ByteRow) bias() uint32 { return kernels.PlaneBias(r.Width, r.Natural) }

// valueRange bounds entries of rows, zeros among them.
type valueRange struct{ lo, hi int64 }

// rangeOf returns what bounds the entries of a tensor that is on the device with so many bytes each: its own range, if it states one that
// a run has checked.
func rangeOf(t *model.Tensor, width int) valueRange {
	half := int64(1) << (8*width - 1)
	r := valueRange{-half, half - 1}
	if t.Kind != model.Fixed && (t.Min != 0 || t.Max != 0) {
		r = valueRange{max(r.lo, t.Min), min(r.hi, t.Max)}
	}
	return r
}

// or returns what bounds the entries of both.
func (r valueRange) or(x valueRange) valueRange { return valueRange{min(r.lo, x.lo), max(r.hi, x.hi)} }

// row returns a row of such entries, in as few planes as hold them.
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

// appendPlanes appends the planes of a row, with a target. There are none of rows of zeros.
func (r ByteRow) appendPlanes(all []kernels.ByteRow, target, pitch int) []kernels.ByteRow {
	for j := range r.Width {
		all = append(all, kernels.ByteRow{Bytes: r.At.Offset(j, pitch), Target: uint32(target), Shift: uint32(8 * j)})
	}
	return all
}

// tableRows returns the table rows with the given numbers (whir.Layout.TableRows),
// increasing, if 2^shift of the commitment's rows make one. Those that are in a tensor as
// they are stay there, the others are packed into memory of a.
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
	at := device.NewArray[int8](a, size)
	pack := make([]bool, len(rows))
	for i, r := range rows {
		if r.Pending() {
			pack[i], rows[i].At = true, at
			at = at.Offset(r.Width, pitch)
		}
	}
	all := p.shares(numbers, shift)
	// Slots without a row come first: a row may be in two groups.
	for _, zeros := range []bool{true, false} {
		var jobs []kernels.PackedRows
		var last share
		enqueue := func() {
			if len(jobs) > 0 {
				device.Check(kernels.PackPlanes(p.a, jobs, pitch, p.C.RowVars, shift, p.stacks[last.group].device))
			}
			jobs = jobs[:0]
		}
		for _, x := range all {
			if !pack[x.row] || zeros && x.slots == 1<<shift {
				continue
			}
			s := p.stacks[x.group]
			if s != p.stacks[last.group] {
				enqueue()
			}
			row := rows[x.row]
			as := kernels.PackedRows{Dst: row.At, Width: uint64(row.Width), Rows: 1, First: x.first, Slots: x.slots, From: x.from}
			if row.Natural {
				as.Natural = 1
			}
			if zeros { // which is what is behind the stack
				as.First, as.Slots, as.From = 0, 1<<shift, s.offsets[len(s.offsets)-1]
			}
			// Rows behind each other are packed at once.
			n := len(jobs)
			if n > 0 && x.group == last.group && x.row == last.row+1 && numbers[x.row] == numbers[last.row]+1 && as.Width == jobs[n-1].Width && as.Natural == jobs[n-1].Natural {
				jobs[n-1].Rows++
				jobs[n-1].Slots += as.Slots
			} else {
				jobs = append(jobs, as)
			}
			last = x
		}
		enqueue()
	}
	return rows
}

// findRows returns the rows that tableRows returns, pending where they must be packed. Those from the host's memory have the
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

// share is what a table row of a list has of a group: some of its slots, from one on, with the group's stack from an entry on.
type share struct {
	row, group         int
	first, slots, from uint64
}

// shares lists those of table rows, by group. A row may be in two.
func (p *packer) shares(numbers []uint64, shift int) []share {
	var all []share
	for i, g := range p.C.Groups {
		if p.stacks[i] == nil {
			continue
		}
		end := g.First + uint64(g.Rows)
		row, _ := slices.BinarySearch(numbers, g.First>>shift)
		for ; row < len(numbers) && numbers[row]<<shift < end; row++ {
			begin := numbers[row] << shift
			first := max(g.First, begin)
			slots, at := min(end, begin+1<<shift)-first, uint64(p.C.Parts[i].First)+first-g.First
			all = append(all, share{row, i, first - begin, slots, at << p.C.RowVars})
		}
	}
	return all
}

// uploadRows is tableRows from the host's memory.
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
