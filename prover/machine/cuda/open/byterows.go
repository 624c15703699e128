package open

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
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
	// Slots without a row come first: a row may be in two groups.
	for _, zeros := range []bool{true, false} {
		var jobs []kernels.PackedRows
		of := -1 // the group whose stack they are of
		enqueue := func() {
			if len(jobs) > 0 {
				device.Check(kernels.PackPlanes(p.a, jobs, pitch, p.C.RowVars, shift, p.stacks[of].device))
			}
			jobs = jobs[:0]
		}
		for _, in := range p.inGroups(numbers, shift) {
			if of < 0 || p.stacks[of] != p.stacks[in.group] {
				enqueue()
				of = in.group
			}
			takes := func(i int) bool { return pack[i] && !(zeros && in.fills(&p.C, numbers[i], shift)) }
			for i := in.from; i < in.to; {
				n := 1 // rows that are packed at once
				for i+n < in.to && rows[i+n].Width == rows[i].Width && rows[i+n].Natural == rows[i].Natural && takes(i+n) == takes(i) && numbers[i+n] == numbers[i]+uint64(n) {
					n++
				}
				if takes(i) {
					jobs = append(jobs, p.packed(rows[i], in.group, numbers[i], n, shift, zeros))
				}
				i += n
			}
		}
		enqueue()
	}
	return rows
}

// findRows returns the rows that tableRows returns, pending where they must be packed. Those from the host's memory have the
// width of their range.
func (p *packer) findRows(numbers []uint64, shift int) []ByteRow {
	vars := p.C.RowVars + shift
	pitch := kernels.RowPitch(1 << vars)
	rows, ranges := make([]ByteRow, len(numbers)), make([]valueRange, len(numbers))
	for _, in := range p.inGroups(numbers, shift) {
		for i := in.from; i < in.to; i++ {
			from, n := in.entries(&p.C, numbers[i], shift)
			if at, ok := p.stacks[in.group].inPlace(from, n); ok && !p.leaving && shift == 0 && 1<<vars == pitch {
				rows[i] = ByteRow{At: at, Width: 1}
				continue
			}
			ranges[i] = ranges[i].or(p.stacks[in.group].valueRange(from, n))
			rows[i] = ranges[i].row()
		}
	}
	return rows
}

// inGroup are rows from to to−1 of a list that have rows of a group.
type inGroup struct{ group, from, to int }

// InGroups divides table rows by the groups of rows that they have. A row may be in two.
func (p *packer) inGroups(numbers []uint64, shift int) []inGroup {
	var each []inGroup
	for g := range p.C.Groups {
		first, last := p.C.Groups[g].First>>shift, (p.C.Groups[g].First+uint64(p.C.Groups[g].Rows)-1)>>shift
		i, _ := slices.BinarySearch(numbers, first)
		from := i
		for i < len(numbers) && numbers[i] <= last {
			i++
		}
		if from < i && p.stacks[g] != nil {
			each = append(each, inGroup{g, from, i})
		}
	}
	return each
}

// slots returns the first of the group's slots among those of n table rows from number r
// on, and their number.
func (in inGroup) slots(c *backend.Commitment, r uint64, n, shift int) (first, count uint64) {
	g := &c.Groups[in.group]
	first = max(g.First, r<<shift)
	return first, min(g.First+uint64(g.Rows), (r+uint64(n))<<shift) - first
}

// Entries returns the range of the group's stack that table row r has.
func (in inGroup) entries(c *backend.Commitment, r uint64, shift int) (from, n uint64) {
	first, count := in.slots(c, r, 1, shift)
	return (uint64(c.Parts[in.group].First) + first - c.Groups[in.group].First) << c.RowVars, count << c.RowVars
}

// fills says whether all slots of table row r are the group's.
func (in inGroup) fills(c *backend.Commitment, r uint64, shift int) bool {
	_, count := in.slots(c, r, 1, shift)
	return count == 1<<shift
}

// packed describes n table rows from number r on, which lie behind each other from that of
// the first on: all of them as zeros, or what they have of the group.
func (p *packer) packed(row ByteRow, group int, r uint64, n, shift int, zeros bool) kernels.PackedRows {
	in, s := inGroup{group: group}, p.stacks[group]
	as := kernels.PackedRows{Dst: row.At, Width: uint64(row.Width), Rows: uint64(n)}
	if row.Natural {
		as.Natural = 1
	}
	if zeros { // which is what is behind the stack
		as.Slots, as.From = uint64(n)<<shift, s.offsets[len(s.offsets)-1]
		return as
	}
	first, count := in.slots(&p.C, r, n, shift)
	as.First, as.Slots = first-r<<shift, count
	as.From, _ = in.entries(&p.C, first>>shift, shift)
	return as
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
