package cuda

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// A byteRow is a row on the device as kernels.ByteRows has it, in as many planes as its
// entries have bytes. The zero value is a row of zeros.
type byteRow struct {
	at    kernels.Ptr
	width int
}

// bias is what the bytes of an entry of the row lack.
func (r byteRow) bias() uint32 { return kernels.PlaneBias(r.width) }

// appendPlanes appends the planes of rows, those of the i-th with target i. There are none
// of rows of zeros.
func appendPlanes(all []kernels.ByteRow, rows []byteRow, pitch int) []kernels.ByteRow {
	for i, r := range rows {
		for j := range r.width {
			all = append(all, kernels.ByteRow{Bytes: r.at.Offset(j, pitch), Target: uint32(i), Shift: uint32(8 * j)})
		}
	}
	return all
}

// biases returns the bias of every row.
func biases(rows []byteRow) []uint32 {
	b := make([]uint32, len(rows))
	for i, r := range rows {
		b[i] = r.bias()
	}
	return b
}

// tableRows returns the table rows with the given numbers (whir.Layout.TableRows),
// increasing, if 2^shift of the commitment's rows make one. Those that are in a tensor as
// they are stay there, the others are packed into memory of a.
func (p *packer) tableRows(a *scope, numbers []uint64, shift int) []byteRow {
	if p.host != nil {
		return p.uploadRows(a, numbers, shift)
	}
	rows, size := p.findRows(numbers, shift)
	if size == 0 {
		return rows
	}
	pitch := kernels.RowPitch(1 << (p.c.RowVars + shift))
	at := newArray[int8](a, size)
	pack := make([]bool, len(rows))
	for i := range rows {
		if rows[i].at == 0 {
			pack[i], rows[i].at = true, at
			at = at.Offset(rows[i].width, pitch)
		}
	}
	// Slots without a row come first: a row may be in two groups.
	for _, zeros := range []bool{true, false} {
		var jobs []kernels.PackedRows
		of := -1 // the group whose stack they are of
		enqueue := func() {
			if len(jobs) > 0 {
				check(kernels.PackPlanes(p.a, jobs, pitch, p.c.RowVars, shift, p.stacks[of].device))
			}
			jobs = jobs[:0]
		}
		for _, in := range p.inGroups(numbers, shift) {
			if of < 0 || p.stacks[of] != p.stacks[in.group] {
				enqueue()
				of = in.group
			}
			takes := func(i int) bool { return pack[i] && !(zeros && in.fills(&p.c, numbers[i], shift)) }
			for i := in.from; i < in.to; {
				n := 1 // rows that are packed at once
				for i+n < in.to && rows[i+n].width == rows[i].width && takes(i+n) == takes(i) && numbers[i+n] == numbers[i]+uint64(n) {
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

// findRows returns the rows that tableRows returns, without an address where they must be
// packed, and the bytes of those.
func (p *packer) findRows(numbers []uint64, shift int) (rows []byteRow, size int) {
	vars := p.c.RowVars + shift
	pitch := kernels.RowPitch(1 << vars)
	rows = make([]byteRow, len(numbers))
	for _, in := range p.inGroups(numbers, shift) {
		for i := in.from; i < in.to; i++ {
			from, n := in.entries(&p.c, numbers[i], shift)
			if at, ok := p.stacks[in.group].inPlace(from, n); ok && shift == 0 && 1<<vars == pitch {
				rows[i].at = at
			}
			rows[i].width = max(p.stacks[in.group].width(from, n), rows[i].width)
		}
	}
	for _, r := range rows {
		if r.at == 0 {
			size += r.width * pitch
		}
	}
	return rows, size
}

// inGroup are rows from to to−1 of a list that have rows of a group.
type inGroup struct{ group, from, to int }

// inGroups divides table rows by the groups of rows that they have. A row may be in two.
func (p *packer) inGroups(numbers []uint64, shift int) []inGroup {
	var each []inGroup
	for g := range p.c.Groups {
		first, last := p.c.Groups[g].First>>shift, (p.c.Groups[g].First+uint64(p.c.Groups[g].Rows)-1)>>shift
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

// entries returns the range of the group's stack that table row r has.
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
func (p *packer) packed(row byteRow, group int, r uint64, n, shift int, zeros bool) kernels.PackedRows {
	in, s := inGroup{group: group}, p.stacks[group]
	as := kernels.PackedRows{Dst: row.at, Width: uint64(row.width), Rows: uint64(n)}
	if zeros { // which is what is behind the stack
		as.Slots, as.From = uint64(n)<<shift, s.offsets[len(s.offsets)-1]
		return as
	}
	first, count := in.slots(&p.c, r, n, shift)
	as.First, as.Slots = first-r<<shift, count
	as.From, _ = in.entries(&p.c, first>>shift, shift)
	return as
}

// uploadRows is tableRows from the host's memory.
func (p *packer) uploadRows(a *scope, numbers []uint64, shift int) []byteRow {
	n := 1 << (p.c.RowVars + shift)
	pitch := kernels.RowPitch(n)
	values, wide := make([]int32, n), newArray[int32](a, n)
	defer a.Free(wide)
	rows := make([]byteRow, len(numbers))
	for i, r := range numbers {
		p.c.FillTableRow(p.host, shift, r, 0, values)
		w := ints.WidthOf(values)
		rows[i] = byteRow{newArray[int8](a, w*pitch), w}
		check(kernels.UploadSlice(a, wide, values))
		check(kernels.SplitPlanes(a, rows[i].at, wide, kernels.ByteRows{Width: w, Pitch: pitch}, n))
	}
	return rows
}
