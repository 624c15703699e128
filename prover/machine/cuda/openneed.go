package cuda

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// pendingRow is a row of the table that must be packed, and its bytes.
type pendingRow struct{ at, bytes int }

// openNeed is that of Open: rows that must be packed, or a piece of them, and beside them what the dots
// take first, then tables of K over what the long rows fold to, and on top either the
// weights of the first queries or what the later levels commit to.
func openNeed(p *plan.Plan, piece, machines int, how device.Mode) int64 {
	levels := p.Params.Levels
	first := levels[0]
	var packed, stretch, all, columns, later, weights int64
	var list []open.Claim
	var pending []pendingRow
	planes, count := 0, 0 // of all rows
	offsets := p.RowOffsets()
	for i := range p.Trees {
		s := &p.Trees[i]
		shift := first.RowVars - s.RowVars
		t := &open.Packer{C: s.Commitment, Stacks: open.ExpectedStacks(p.Graph, &s.Commitment)}
		numbers := s.TableRows(shift)
		rows, size := t.FindRows(numbers, shift)
		for _, row := range rows {
			planes += row.Width
		}
		count += len(rows)
		if how.Values && !s.Fixed {
			stretch = max(stretch, segmentRows(t, p.Graph, numbers, shift))
			rows, size = nil, 0
		}
		for k, row := range rows {
			if row.Pending() {
				pending = append(pending, pendingRow{int(offsets[i] + numbers[k]), row.Width * kernels.RowPitch(1<<first.RowVars)})
			}
		}
		packed += int64(size)
		if machines > 1 && !s.Fixed { // those that are in place may move to another machine
			for _, row := range rows {
				if !row.Pending() {
					packed += int64(row.Width * kernels.RowPitch(1<<first.RowVars))
				}
			}
		}
		panels := (first.Queries + 3) / 4
		own := 12*int64(first.Queries*s.Rows()) + int64(max(1, min(panels, open.PanelBytes/kernels.PanelBytes(s.RowVars)))*kernels.PanelBytes(s.RowVars))
		own += int64(kernels.PointScratch(s.RowVars, first.Queries))
		if shift > 0 {
			own += int64(min(piece, size))
		}
		columns = max(columns, own)
		for k, part := range s.Parts {
			if k > 0 && part.Stack == s.Parts[k-1].Stack {
				continue
			}
			all += int64(part.Stack.Size)
			for _, b := range part.Stack.Blocks {
				// Most tensors have two claims, and a block a part of each.
				x := open.Span{Rows: 1 << max(0, b.Bits-first.RowVars), Vars: min(b.Bits, first.RowVars), Dense: b.Bits >= first.RowVars || shift == 0}
				slot := s.Groups[k].First + b.Offset>>s.RowVars - uint64(part.First)
				row := int(offsets[i] + slot>>shift)
				list = append(list, open.Claim{Row: row, Span: x}, open.Claim{Row: row, Span: x})
			}
		}
	}
	for _, l := range levels[1:] {
		// Limbs of the rows while they are encoded, codewords and digests as long as
		// the opening lasts.
		columns = max(columns, int64(device.ElementBytes)<<(l.FoldVars+l.RowVars))
		later += int64(device.ElementBytes)<<(l.FoldVars+l.LogDomain()) + 2*hash.DigestBytes<<l.LogDomain() + 4<<l.LogDomain()
	}
	c := open.JoinRows(list, first.RowVars)
	spans := c.Spans(list, first.RowVars)
	n := 1 << first.FoldVars >> open.SumVars(spans, open.RowTable{Rows: 1 << first.FoldVars, RowVars: first.RowVars, Planes: open.MeanWidth(planes, count)}, open.TableRoom(how, int(all)), machines)
	if how.Rows {
		packed = 0
		places := make([]int64, n)
		for _, row := range pending {
			places[row.at%n] += int64(row.bytes)
			packed += int64(row.bytes)
		}
		packed = min(packed, max(int64(piece), slices.Max(places)))
	}
	packed = max(packed, stretch)
	panels := map[int]int64{} // of a class
	const rowPart = 32
	var dots, parts int64
	for _, x := range list {
		high, low := kernels.WeightSizes(x.Vars)
		weights += device.ElementBytes * int64(high+low)
		parts += rowPart * int64(min(n, x.Rows))
	}
	for _, i := range c.Each {
		if x := list[i]; x.OnTensorCores() {
			panels[x.Vars] += int64(kernels.PanelBytes(x.Vars))
		}
	}
	for _, x := range spans {
		// The words of a product, of which some are not wanted (mostProducts), and its entries of two tables.
		dots += 72 * int64(min(n, x.Rows)) << first.FoldVars / int64(n)
	}
	most := min(int64(len(c.Joined)*kernels.PanelBytes(first.RowVars)), max(open.PanelBytes, int64(kernels.PanelBytes(first.RowVars))))
	for _, size := range panels {
		most = max(most, min(size, open.PanelBytes))
	}
	return packed + weights + max(most+dots, 2*int64(device.ElementBytes*n)<<first.RowVars+max(parts, later+columns))
}

// segmentRows returns the most bytes that are packed of the rows of a stretch, which an opening
// takes by themselves.
func segmentRows(t *open.Packer, g *model.Graph, numbers []uint64, shift int) int64 {
	s := run.NewSegments(g)
	bytes := make([]int64, s.N)
	last, before := -1, -1 // the row before, and its stretch
	pitch := kernels.RowPitch(1 << (t.C.RowVars + shift))
	for _, in := range t.InGroups(numbers, shift) {
		k := s.Of[g.Tensors[t.C.Parts[in.Group].Stack.Blocks[0].Tensor].Chunk]
		for i := in.From; i < in.To; i++ {
			from, n := in.Entries(&t.C, numbers[i], shift)
			if _, ok := t.Stacks[in.Group].InPlace(from, n); ok && shift == 0 && n == uint64(pitch) || i == last && k == before {
				continue
			}
			bytes[k] += int64(t.Stacks[in.Group].Width(from, n) * pitch)
			last, before = i, k
		}
	}
	return slices.Max(bytes)
}
