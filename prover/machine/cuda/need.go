package cuda

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/machine/cuda/peers"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Need is the device memory, in bytes, that a proof takes if all of it is made
// there: an estimate from the graph and the layout of its commitments alone.
// What steps of some kind take is the most that one of them does.
type Need struct {
	Fixed   int64 `json:"fixed"`   // weights, which stay
	Witness int64 `json:"witness"` // values of one run, and the keys that it looked up
	Trees   int64 `json:"trees"`   // digests of the commitment to the witness
	Forward int64 `json:"forward"` // accumulators
	LookUps int64 `json:"look_ups"`
	Sums    int64 `json:"sums"`
	Commit  int64 `json:"commit"`
	Open    int64 `json:"open"`
}

// Working is what is needed beside the weights.
func (n *Need) Working() int64 {
	return n.Witness + n.Trees + max(n.Forward, n.LookUps, n.Sums, n.Commit, n.Open)
}

// Peak is the most that is needed at once.
func (n *Need) Peak() int64 { return n.Fixed + n.Working() }

// Need estimates what proofs of a graph need. The result must not be changed.
func (m *Machine) Need(p *plan.Plan) *Need {
	return m.needIn(p, m.Mode())
}

// needIn is Need in a mode.
func (m *Machine) needIn(p *plan.Plan, how device.Mode) *Need {
	base := how
	base.Kept = 0
	n := m.needs.wholeOf(p, base, func() *Need { return m.estimate(p, base) })
	if !how.Values || how.Kept == 0 {
		return n
	}
	more := *n
	more.Witness += keptNeed(segmentNeeds(p.Graph), how)
	return &more
}

// keptNeed is what values of kept stretches take, of these values of all, beside what they would
// if none were kept.
func keptNeed(stretches []int64, how device.Mode) int64 {
	var kept int64
	for _, n := range stretches[:min(how.Kept, len(stretches))] {
		kept += n
	}
	again := stretches[min(how.Kept, len(stretches)):]
	return kept + mostTogether(again, how.Together()) - mostTogether(stretches, how.Together())
}

// Settle chooses what is kept, and what is made again (KeepKeys, PackInPieces, KeepValues): the
// least with which a proof of the plan takes no more than so many bytes of the device, and so
// many beside the weights; 0 stands for no bound. Of so many proofs, at least one, values are
// there at a time, and if they do not fit, of fewer. It returns what one proof needs.
//
// Where values are made again, as many stretches keep theirs as leave room for some chunks at
// once (KeepStretches): each saves a part of the forward pass for every time that values are
// wanted.
func (m *Machine) Settle(p *plan.Plan, all, beside int64, runs int) *Need {
	modes := []device.Mode{{}, {Rows: true}, {Keys: true}, {Keys: true, Rows: true}}
	if m.Sharing == 1 { // several GPUs have parts of a run each
		modes = append(modes, device.Mode{Keys: true, Rows: true, Values: true, Ahead: true}, device.Mode{Keys: true, Rows: true, Values: true})
	}
	for i := range modes {
		modes[i].Tables = beside / 2 // the rest is for what they are made of
	}
	for ; runs > 0; runs-- {
		for _, how := range modes {
			n := m.needIn(p, how)
			if !n.fits(runs, all, beside) {
				continue
			}
			if how.Values {
				how.Kept = m.mostKept(p, n, how, runs, all, beside)
				n = m.needIn(p, how)
			}
			return m.settled(n, how, beside)
		}
	}
	how := modes[len(modes)-1]
	return m.settled(m.needIn(p, how), how, beside)
}

// fits says whether a proof beside the values of others, runs in all, takes no more than so many
// bytes, and beside the weights so many; 0 stands for no bound.
func (n *Need) fits(runs int, all, beside int64) bool {
	working := n.Working() + int64(runs-1)*(n.Witness+n.Trees)
	return (all == 0 || n.Fixed+working <= all) && (beside == 0 || working <= beside)
}

// settled notes what Settle has chosen.
func (m *Machine) settled(n *Need, how device.Mode, beside int64) *Need {
	if beside > 0 {
		beside = max(1, beside-n.Witness-n.Trees)
	}
	m.SetMode(how)
	m.SetSpare(beside)
	return n
}

// lanesBesideKept is how many chunks have room at once beside the stretches that are kept. More
// would have less of their work to do on the device while others wait for the host, but values to
// be made again.
const lanesBesideKept = 4

// mostKept returns how many stretches may keep their values where so many runs fit of which none
// do, and a proof needs n then: with room for chunks at once, of which the scheduler books four
// fifths.
func (m *Machine) mostKept(p *plan.Plan, n *Need, how device.Mode, runs int, all, beside int64) int {
	stretches := segmentNeeds(p.Graph)
	chunks := int64(min(m.Streams, lanesBesideKept)) * max(n.LookUps, n.Sums) / 4 * 5
	for how.Kept = len(stretches); how.Kept > 0; how.Kept-- {
		more := *n
		more.Witness += keptNeed(stretches, how)
		more.LookUps = max(more.LookUps, chunks)
		if more.fits(runs, all, beside) {
			break
		}
	}
	return how.Kept
}

// fixedNeed is Need.Fixed.
func fixedNeed(g *model.Graph) int64 {
	var n int64
	for i := range g.Tensors {
		if t := &g.Tensors[i]; t.Kind == model.Fixed {
			n += run.TensorNeed(t)
		}
	}
	return n
}

func (m *Machine) estimate(p *plan.Plan, how device.Mode) *Need {
	n := &Need{Fixed: fixedNeed(p.Graph)}
	for i := range p.Graph.Tensors {
		if t := &p.Graph.Tensors[i]; t.Kind != model.Fixed {
			n.Witness += run.TensorNeed(t)
		}
	}
	var sums, planes int64 // accumulators are there as long as the pass lasts
	for i := range p.Graph.Steps {
		s := &p.Graph.Steps[i]
		own, all := productsNeed(p.Graph, s)
		sums, planes = max(sums, own), max(planes, all-own)
		if s.Kind == model.StepLookup && !how.Forward().Keys {
			n.Witness += keysNeed(p.Graph, i)
		}
	}
	n.Forward = sums + planes
	if how.Values { // one at a time, or two, and what products of one take
		stretches := segmentNeeds(p.Graph)
		n.Witness += mostTogether(stretches, how.Together()) + n.Forward
		for _, inner := range stretches {
			n.Witness -= inner
		}
		n.Forward = 0
	}
	for _, f := range p.Forks {
		n.LookUps = max(n.LookUps, lookUpsNeed(p.Graph, f, how))
		for i := range f.Batches {
			n.Sums = max(n.Sums, sumsNeed(p.Graph, f, &f.Batches[i]))
		}
	}
	if p.Params == nil {
		return n
	}
	for i := range p.Trees {
		t := &p.Trees[i]
		n.Commit = max(n.Commit, commitNeed(&t.Commitment, m.Piece)+digestsNeed(&t.Commitment, m.Sharing))
		if !t.Fixed {
			n.Trees += digestBytes << (t.LogDomain() + 1)
		}
	}
	n.Open = openNeed(p, m.Piece, m.Sharing, how)
	if m.Sharing > 1 {
		n.Open += peers.AddPiece * device.ElementBytes
	}
	return n
}

// segmentNeeds is what the values of each stretch take that only it reads.
func segmentNeeds(g *model.Graph) []int64 {
	s := run.NewSegments(g)
	needs := make([]int64, s.N)
	for i, k := range s.Inner {
		if k >= 0 {
			needs[k] += run.TensorNeed(&g.Tensors[i])
		}
	}
	return needs
}

// mostTogether is the greatest sum of so many of a list that follow each other, or of all if
// there are fewer.
func mostTogether(list []int64, n int) int64 {
	var most, sum int64
	for i, x := range list {
		if sum += x; i >= n {
			sum -= list[i-n]
		}
		most = max(most, sum)
	}
	return most
}

// productsNeed is that of the accumulators of a step's products that are launches of their own, and
// what they take at most: these, and both operands as planes of bytes.
func productsNeed(g *model.Graph, s *model.Step) (sums, bytes int64) {
	if len(s.Acc.Products) == 0 {
		return 0, 0
	}
	d := kernels.NewDry(1)
	sums = 8 * int64(productsRoom(device.NewScope(d), g, s))
	return sums, d.Peak()
}

// keysNeed is that of the keys of a look-up step, if they are not a tensor.
func keysNeed(g *model.Graph, step int) int64 {
	if _, _, ok := run.KeyTensor(g, step); ok {
		return 0
	}
	s := &g.Steps[step]
	return int64(model.Size(s.Shape)) * int64(run.WidthOfKeys(&g.Tables[s.Table]))
}

const digestBytes = hash.DigestBytes

// lookUpsNeed is that of a fork's look-up tree: a numerator in M31 and a
// denominator in K for each leaf, and the keys of steps in several blocks; beside them
// two heaps of K for the layers above, or before that the keys of the other steps, and
// what makes those again that are not kept.
func lookUpsNeed(g *model.Graph, f *plan.Fork, how device.Mode) int64 {
	l := &f.Leaves
	if l.Size == 0 {
		return 0
	}
	vars := model.Log2Ceil(l.Size)
	tree := int64(2*device.ElementBytes)<<vars + heapsNeed(vars)
	var cut, others, made int64
	for i := range l.Steps {
		s := &l.Steps[i]
		keys := keysNeed(g, s.Step)
		if s.IsCut() {
			cut += keys
		} else {
			others += keys
		}
		if keys > 0 && how.Forward().Keys {
			_, bytes := productsNeed(g, &g.Steps[s.Step])
			made = max(made, bytes)
		}
	}
	return int64(4+device.ElementBytes)*int64(l.Size) + cut + max(tree, others+made)
}

// heapsNeed is that of the heaps of eq weights of a point.
func heapsNeed(vars int) int64 { return 4 * device.ElementBytes << ((vars + 1) / 2) }

// sumsNeed is that of a batch of sums: two tables of K each, with the sums of the
// largest restriction on the way.
func sumsNeed(g *model.Graph, f *plan.Fork, b *plan.Batch) int64 {
	var tables, most int64
	for i := b.From; i < b.To; i++ {
		s := &f.Sums[i]
		tables += 2*device.ElementBytes<<s.Vars + heapsNeed(s.Vars)
		longest := longestAxis(g.Tensors[s.A.Tensor].Shape)
		if s.View == nil {
			longest = max(longest, longestAxis(g.Tensors[s.B.Tensor].Shape))
		}
		// Sums of a restriction, its weights, and both again between two axes.
		most = max(most, 4*device.ElementBytes<<s.Vars+6*device.ElementBytes*int64(longest))
	}
	return tables + most
}

func longestAxis(shape []int) int {
	d := 1
	for _, n := range shape {
		d = max(d, n)
	}
	return d
}

// commitNeed is that of Commit: values and codewords of some rows, twiddles, the
// hashes of all columns if they take more than one turn, and the digests.
func commitNeed(c *backend.Commitment, piece int) int64 {
	domain, rows := c.LogDomain(), 0
	for _, g := range c.Groups {
		rows = max(rows, g.Rows)
	}
	n := open.RowsAtOnce(c.Hash, rows, domain, piece)
	need := int64(4*n)<<c.RowVars + int64(4*n+4+2*digestBytes)<<domain
	if n < rows {
		need += int64(kernels.ColumnState(c.Hash)) << domain
	}
	if n := len(c.Groups); n > 1 {
		need += int64(kernels.DigestState(c.Hash, n)) << domain
	}
	return need
}

// digestsNeed is that of the digests of one machine's groups, if several share a
// commitment, as long as it is made.
func digestsNeed(c *backend.Commitment, machines int) int64 {
	if machines < 2 || len(c.Groups) < 2 {
		return 0
	}
	return int64((len(c.Groups)+machines-1)/machines) * digestBytes << c.LogDomain()
}

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
		later += int64(device.ElementBytes)<<(l.FoldVars+l.LogDomain()) + 2*digestBytes<<l.LogDomain() + 4<<l.LogDomain()
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

// Stretches returns the stretches of a plan's chunks, nil if all values are kept: a chunk is
// proved while the values of its stretch are there, as those of so many that follow each other
// may be together.
func (m *Machine) Stretches(p *plan.Plan) (of []int, together int) {
	how := m.Mode()
	if !how.Values || !run.InOrder(p.Graph) {
		return nil, 0
	}
	return run.NewSegments(p.Graph).Of, how.Together()
}
