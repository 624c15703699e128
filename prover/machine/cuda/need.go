package cuda

import (
	"maps"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Need is the device memory, in bytes, that a proof takes if all of it is made on the device. It depends only on the plan and on the
// settings of the machine. Forward, Tasks, Commit and Open are phases that do not overlap; each has the most that a step of its kind
// takes beside Fixed, Witness and Trees.
type Need struct {
	Fixed   int64 `json:"fixed"`   // weights, which stay from proof to proof
	Witness int64 `json:"witness"` // values of one run, and the keys of its look-ups
	Trees   int64 `json:"trees"`   // digests of the commitment to the witness
	Forward int64 `json:"forward"` // the forward pass: accumulators
	Tasks   int64 `json:"tasks"`   // the proof of one sub-transcript: look-ups and sums
	Commit  int64 `json:"commit"`  // one commitment
	Open    int64 `json:"open"`    // the opening
}

// Working is the most bytes that are needed at once beside the weights.
func (n *Need) Working() int64 {
	return n.Witness + n.Trees + max(n.Forward, n.Tasks, n.Commit, n.Open)
}

// Peak is the most bytes that are needed at once.
func (n *Need) Peak() int64 { return n.Fixed + n.Working() }

// needs caches the estimates for the plan that was asked about last: the same
// questions come before a proof begins and when its chunks are scheduled.
type needs struct {
	mu     sync.Mutex // held while a question is answered (Machine.asked)
	plan   *plan.Plan
	least  *run.Least
	wholes map[device.Mode]*estimate
	// The keys of these are modes reduced to what the estimate depends on (taskMode, commitMode, openMode, Mode.Forward).
	tasks          map[device.Mode]*tasks
	commits, opens map[device.Mode]int64
	runs           map[device.Mode]*dry // exist only while a question is answered
}

// estimate is a Need that is partly estimated. Parts that are not known yet have lower bounds.
type estimate struct {
	Need
	parts int // how many of partsOfNeed are known, the first ones
}

// Need estimates what proofs of a plan need. The result must not be changed.
func (m *Machine) Need(p *plan.Plan) *Need {
	defer m.asked()()
	return m.needIn(p, m.Mode())
}

// asked locks needs for a question. The caller calls the result when the question is answered: it closes the dry runs and unlocks.
func (m *Machine) asked() (answered func()) {
	m.needs.mu.Lock()
	return func() {
		m.needs.endRuns()
		m.needs.mu.Unlock()
	}
}

// needIn is Need in a mode. The mutex must be held (asked), as for all methods below that are not exported.
func (m *Machine) needIn(p *plan.Plan, how device.Mode) *Need {
	return m.needIf(p, how, func(*Need) bool { return true })
}

// needIf returns the estimate for a mode if fits accepts it, else nil. fits must be monotone: if it rejects a Need, it rejects every Need
// with larger parts. So needIf stops at the first part that is too large, and does not estimate the others.
func (m *Machine) needIf(p *plan.Plan, how device.Mode, fits func(*Need) bool) *Need {
	e := m.estimate(p, how)
	for ; e.parts < len(partsOfNeed) && fits(&e.Need); e.parts++ {
		partsOfNeed[e.parts](m.dry(how), p, &e.Need)
	}
	if !fits(&e.Need) {
		return nil
	}
	return &e.Need
}

// estimate returns the estimate for a mode as far as it is known. For a new plan it drops what is cached.
func (m *Machine) estimate(p *plan.Plan, how device.Mode) *estimate {
	how.Stay = 0
	n := &m.needs
	if n.plan != p {
		n.plan, n.least, n.wholes, n.tasks = p, run.NewLeast(p.Graph), map[device.Mode]*estimate{}, map[device.Mode]*tasks{}
		n.commits, n.opens, n.runs = map[device.Mode]int64{}, map[device.Mode]int64{}, map[device.Mode]*dry{}
	}
	e := n.wholes[how]
	if e == nil {
		e = &estimate{Need: Need{Fixed: fixedNeed(p.Graph), Witness: n.least.Bytes(how)}}
		if p.Params != nil {
			for i := range p.Trees {
				if tree := &p.Trees[i]; !tree.Fixed {
					e.Trees += hash.DigestBytes << (tree.LogDomain() + 1)
				}
			}
		}
		n.wholes[how] = e
	}
	return e
}

// dry returns a dry run in a mode. It exists until the question is answered. Modes with the same forward pass share it.
func (m *Machine) dry(how device.Mode) *dry {
	how.Stay = 0
	d := m.needs.runs[how.Forward()]
	if d == nil {
		d = m.newDry(m.needs.plan.Graph, how)
		m.needs.runs[how.Forward()] = d
	}
	d.mode = how
	d.on.SetMode(how)
	return d
}

// endRuns closes all dry runs.
func (n *needs) endRuns() {
	for how, d := range n.runs {
		d.close()
		delete(n.runs, how)
	}
}

// partsOfNeed estimate the parts of a Need, one function after the other. Those that take long come last.
var partsOfNeed = []func(d *dry, p *plan.Plan, n *Need){
	(*dry).needForward,
	func(d *dry, p *plan.Plan, n *Need) {
		if p.Params != nil {
			how := commitMode(d.mode)
			n.Commit = remember(d.m.needs.commits, how, func() int64 { return d.m.dry(how).commits(p) })
		}
	},
	func(d *dry, p *plan.Plan, n *Need) { n.Tasks = d.allTasks(p).most },
	func(d *dry, p *plan.Plan, n *Need) {
		if p.Params != nil {
			n.Open = remember(d.m.needs.opens, openMode(d.mode), func() int64 {
				bytes, _ := d.open(p, d.allTasks(p).claims) // an error means sizes that no device can open
				return bytes
			})
		}
	},
}

// remember returns what the map has for a mode. If it has nothing, f makes it.
func remember[T any](of map[device.Mode]T, how device.Mode, f func() T) T {
	v, ok := of[how]
	if !ok {
		v = f()
		of[how] = v
	}
	return v
}

// needForward sets Witness to the bytes that the forward pass leaves, and Forward to those that it takes besides.
func (d *dry) needForward(p *plan.Plan, n *Need) {
	n.Witness, n.Forward = d.values, d.forward
	switch {
	case d.kept == nil: // the host runs the circuit, and all values are uploaded
		for i := range p.Graph.Tensors {
			if t := &p.Graph.Tensors[i]; t.Kind != model.Fixed {
				n.Witness += run.TensorNeed(t)
			}
		}
	case d.mode.Values: // add the values of recomputed segments, and the accumulators for recomputing them
		n.Witness += d.kept.Recomputed(d.mode.Together())
		n.Forward = max(0, d.values+d.forward-n.Witness)
	}
}

// commits returns the most bytes that a commitment of the plan takes.
func (d *dry) commits(p *plan.Plan) (most int64) {
	for i := range p.Trees {
		if bytes, err := d.commit(&p.Trees[i].Commitment); err == nil {
			most = max(most, bytes)
		}
	}
	return most
}

// allTasks returns the tasks of the plan in the mode, from the cache if they are there.
func (d *dry) allTasks(p *plan.Plan) *tasks {
	return remember(d.m.needs.tasks, taskMode(d.mode), func() *tasks { return d.tasks(p) })
}

// taskMode returns the part of a mode on which sub-transcripts depend. How many segments keep their values makes no difference to them.
func taskMode(how device.Mode) device.Mode {
	how = how.Forward()
	how.Kept = 0
	return how
}

// commitMode returns the part of a mode on which commitments depend. Keys are not committed to. Kept makes no difference: a commitment has
// no more of a segment at once if the segment keeps its values than if it recomputes them.
func commitMode(how device.Mode) device.Mode { return device.Mode{Values: how.Values} }

// openMode returns the part of a mode on which the opening depends.
func openMode(how device.Mode) device.Mode {
	how.Keys, how.Stay = false, 0
	return how
}

// Stays is the device memory, in bytes, that a proof takes as long as it lasts, if all
// of it is made there: weights, values and digests.
func (m *Machine) Stays(p *plan.Plan) int64 {
	n := m.Need(p)
	fixed := n.Fixed
	if m.MaxResident > 0 {
		fixed = min(fixed, int64(m.MaxResident))
	}
	return fixed + n.Witness + n.Trees
}

// TaskNeed estimates the most device memory, in bytes, that a stream takes while it proves a sub-transcript, beside
// what stays (Stays). Steps over fewer entries than the threshold are on the CPU, as with backend.Fallback. The estimate is too
// large by what depends on values: keys may fit into fewer bytes than their table's range needs. If there is no room for all
// weights, a piece of a tensor is added. The error says that no device can prove the sub-transcript.
func (m *Machine) TaskNeed(p *plan.Plan, f *plan.Fork) (int64, error) {
	defer m.asked()()
	how := m.Mode()
	m.estimate(p, how)
	tasks := m.needs.tasks[taskMode(how)]
	if tasks == nil {
		tasks = m.dry(how).allTasks(p)
	}
	bytes, ok := tasks.bytes[f]
	if !ok {
		return 0, errNoTask
	}
	if limit := int64(m.MaxResident); limit > 0 && fixedNeed(p.Graph) > limit {
		bytes += int64(m.Piece)
	}
	return bytes, nil
}

// Settle chooses and sets the mode that recomputes least, among those in which a proof of the plan takes at most `all` bytes of
// the device, and at most `beside` bytes without the weights; 0 means no bound. The values of `runs` ≥ 1 proofs are to be on the
// device at a time, or of fewer proofs if they do not fit. If no mode fits, Settle sets the one that takes least. It also sets
// Context.Spare. It returns what one proof needs.
//
// If values are recomputed, as many segments as possible keep theirs all the same, with room left for some chunks at once, and in the
// opening for the rows of the other segments. Each segment that does saves its part of the forward pass whenever values are wanted.
func (m *Machine) Settle(p *plan.Plan, all, beside int64, runs int) *Need {
	defer m.asked()()
	n, how, runs := m.choose(p, all, beside, runs)
	m.SetMode(how)
	m.SetSpare(0)
	if beside > 0 {
		m.SetSpare(max(1, beside-int64(runs)*(n.Witness+n.Trees)))
	}
	return n
}

// Would returns what Settle would return, and sets nothing.
func (m *Machine) Would(p *plan.Plan, all, beside int64, runs int) *Need {
	defer m.asked()()
	n, _, _ := m.choose(p, all, beside, runs)
	return n
}

// choose returns the mode for Settle, what a proof needs in it, and for how many runs there is room. It tries fewer runs last; for a number
// of runs, it tries all modes with room for several chunks at once, then all with room for one.
func (m *Machine) choose(p *plan.Plan, all, beside int64, runs int) (*Need, device.Mode, int) {
	modes, asked := m.modes(all, beside), runs
	for ; runs > 0; runs-- {
		for _, streams := range []int{m.Streams, 1} { // with room for some chunks at once, or for one
			for _, how := range modes {
				fits := m.fits(how, streams, runs, all, beside)
				n := m.needIf(p, how, fits)
				if n == nil {
					continue
				}
				if how.Values {
					how.Kept = m.mostKept(p, how, fits)
					n = m.needIn(p, how)
				}
				if how.Rows && asked == 1 { // with more runs, the next one may begin while this proof is opened, and wants the memory
					how, n = m.widest(p, how, n, fits, beside > 0)
					how.Stay = max(0, n.besideOpening(how, all, beside))
				}
				return n, how, runs
			}
		}
	}
	how := modes[len(modes)-1]
	return m.needIn(p, how), how, 1
}

// widest doubles Mode.Tables, the most bytes of an opening's tables, as long as a proof fits in the mode and the tables use it. Larger
// tables need fewer products with rows. With a budget Tables is fixed, and widest does nothing.
func (m *Machine) widest(p *plan.Plan, how device.Mode, n *Need, fits func(*Need) bool, budget bool) (device.Mode, *Need) {
	for how.Tables > 0 && !budget {
		wider := how
		wider.Tables *= 2
		more := m.needIf(p, wider, fits)
		if more == nil || more.Open <= n.Open {
			break
		}
		how, n = wider, more
	}
	return how, n
}

// stayMargin says how much of the memory is left free when rows stay packed that need not (Mode.Stay): a 32nd.
const stayMargin = 32

// besideOpening returns the bytes that an opening leaves free in a mode, for rows that stay packed in place of being packed by each pass.
func (n *Need) besideOpening(how device.Mode, all, beside int64) int64 {
	working := n.Witness + n.Trees + openWith(how, n.Open)
	free := int64(math.MaxInt64)
	if all > 0 {
		free = all - n.Fixed - working - all/stayMargin
	}
	if beside > 0 {
		free = min(free, beside-working-beside/stayMargin)
	}
	return free
}

// openWith returns the bytes that an opening needs in a mode if its blocks take so many: more, for gaps between blocks, if it packs the
// rows of segments (Mode.Packed).
func openWith(how device.Mode, bytes int64) int64 {
	if how.Packed {
		bytes += bytes / holes
	}
	return bytes
}

// modes lists the modes among which to choose. The one that recomputes least comes first.
func (m *Machine) modes(all, beside int64) []device.Mode {
	modes := []device.Mode{{}, {Rows: true}, {Keys: true}, {Keys: true, Rows: true}}
	tables := beside / 2 // the other half is for the rows that they are made of
	for i := range modes {
		modes[i].Tables = tables
	}
	if beside == 0 {
		tables = all / tightTables
		modes = append(modes, device.Mode{Keys: true, Rows: true, Tables: tables})
	}
	if m.Sharing == 1 { // segments need all of a run on one device
		for _, packed := range []bool{true, false} {
			for _, ahead := range []bool{true, false} {
				modes = append(modes, device.Mode{Keys: true, Rows: true, Values: true, Ahead: ahead, Packed: packed, Tables: tables})
			}
		}
	}
	if tight := modes[len(modes)-1]; beside > 0 { // smaller tables, which leave room for what stays, such as trees of many segments of a text
		tight.Tables = beside / 4
		modes = append(modes, tight)
	}
	return modes
}

// tightTables bounds the tables of an opening where memory is short: they take at most a 32nd of a GPU's memory. Elsewhere they are bounded
// by a part of the rows' bytes (open.Choose).
const tightTables = 32

// fits says whether one proof, with the values of runs−1 others beside it, takes at most `all`
// bytes, and at most `beside` bytes without the weights; 0 means no bound.
func (n *Need) fits(runs int, all, beside int64) bool {
	working := n.Working() + int64(runs-1)*(n.Witness+n.Trees)
	return (all == 0 || n.Fixed+working <= all) && (beside == 0 || working <= beside)
}

// A mode must leave room for so many of the largest chunks at once, or for so many of median size, whichever takes more. With room for
// more chunks the device would wait less for the host, but more values would have to be recomputed.
const largestAtOnce, ordinaryAtOnce = 2, 4

// atOnce returns the bytes that chunks proved at once on so many streams take. If there are several streams, it adds a quarter, since
// the scheduler reserves only four fifths of the memory (package schedule).
func (t *tasks) atOnce(streams int) int64 {
	if streams == 1 || len(t.bytes) == 0 {
		return t.most
	}
	all := slices.Sorted(maps.Values(t.bytes))
	return max(int64(min(streams, largestAtOnce))*t.most, int64(min(streams, ordinaryAtOnce))*all[len(all)/2]) / 4 * 5
}

// holes says how much more memory an opening that packs the rows of segments needs, for gaps between blocks: a 16th.
const holes = 16

// fits returns the function that says whether a Need fits in a mode (Need.fits), with room for chunks at once on so many streams.
func (m *Machine) fits(how device.Mode, streams, runs int, all, beside int64) func(n *Need) bool {
	return func(n *Need) bool {
		more := *n
		if tasks := m.needs.tasks[taskMode(how)]; tasks != nil {
			more.Tasks = tasks.atOnce(streams)
		}
		more.Open = openWith(how, more.Open)
		return more.fits(runs, all, beside)
	}
}

// mostKept returns the most segments that may keep their values, in a mode that fits if none do.
func (m *Machine) mostKept(p *plan.Plan, how device.Mode, fits func(*Need) bool) int {
	beyond := m.needIn(p, how).Witness - m.needs.least.Bytes(how) // how much more values take than the lower bound
	most := func(of int, beyond int64) int {                      // of the segments up to `of`, how many fit
		return of - sort.Search(of, func(i int) bool {
			how.Kept = of - i
			n := m.estimate(p, how).Need
			n.Witness += beyond
			return fits(&n)
		})
	}
	from, to := 0, most(m.needs.least.Segments(), 0)
	// Values exceed the bound by about the same amount for any number of kept segments. So the number that this predicts and its neighbour
	// are tried first. If they do not decide it, the range is halved.
	at := max(1, most(to, beyond))
	for tried := false; from < to; tried = true {
		how.Kept = at
		if m.needIf(p, how, fits) != nil {
			from, at = at, at+1
		} else {
			to, at = at-1, at-1
		}
		if tried {
			at = (from + to + 1) / 2
		}
	}
	return from
}

// fixedNeed returns Need.Fixed: the bytes of all fixed tensors.
func fixedNeed(g *model.Graph) int64 {
	var n int64
	for i := range g.Tensors {
		if t := &g.Tensors[i]; t.Kind == model.Fixed {
			n += run.TensorNeed(t)
		}
	}
	return n
}

// Segments returns for each chunk of a plan its recompute segment, nil if all values are kept. A chunk
// is proved while the values of its segment are on the device; `together` consecutive segments may be
// there at a time.
func (m *Machine) Segments(p *plan.Plan) (of []int, together int) {
	how := m.Mode()
	if !how.Values || !run.InOrder(p.Graph) {
		return nil, 0
	}
	return run.NewSegments(p.Graph, 0).Of, how.Together()
}
