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

// Need is the device memory, in bytes, that a proof takes if all of it is made there. It depends on the plan and on how the
// machine is set alone. Of several steps of a kind it has the most that one of them takes.
type Need struct {
	Fixed   int64 `json:"fixed"`   // weights, which stay
	Witness int64 `json:"witness"` // values of one run, and the keys that it looked up
	Trees   int64 `json:"trees"`   // digests of the commitment to the witness
	Forward int64 `json:"forward"` // what the forward pass takes besides: accumulators
	Tasks   int64 `json:"tasks"`   // the proof of a sub-transcript: look-ups and sums
	Commit  int64 `json:"commit"`
	Open    int64 `json:"open"`
}

// Working is what is needed beside the weights.
func (n *Need) Working() int64 {
	return n.Witness + n.Trees + max(n.Forward, n.Tasks, n.Commit, n.Open)
}

// Peak is the most that is needed at once.
func (n *Need) Peak() int64 { return n.Fixed + n.Working() }

// needs remembers what was estimated for the plan that was asked about last: the same
// questions come before a proof begins and when its chunks are scheduled.
type needs struct {
	mu     sync.Mutex
	plan   *plan.Plan
	least  *run.Least
	wholes map[device.Mode]*estimate
	// By what of the mode each depends on.
	tasks          map[device.Mode]*tasks
	commits, opens map[device.Mode]int64
	runs           map[device.Mode]*dry // while a question is answered
}

// estimate is a Need in the making: no part is more than it will be.
type estimate struct {
	Need
	parts int // that are known, of partsOfNeed
}

// Need estimates what proofs of a plan need. The result must not be changed.
func (m *Machine) Need(p *plan.Plan) *Need {
	defer m.asked()()
	return m.needIn(p, m.Mode())
}

// asked holds the mutex, and runs, until the result is called: until a question is answered.
func (m *Machine) asked() (answered func()) {
	m.needs.mu.Lock()
	return func() {
		m.needs.endRuns()
		m.needs.mu.Unlock()
	}
}

// needIn is Need in a mode. The mutex is held, as by what follows.
func (m *Machine) needIn(p *plan.Plan, how device.Mode) *Need {
	return m.needIf(p, how, func(*Need) bool { return true })
}

// needIf returns the estimate for a mode if it fits, else nil. A need with larger parts must not fit if one with smaller parts
// does not: what comes behind the first part that is too large is not estimated.
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

// estimate returns what is known for a mode.
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

// dry returns a run in a mode, which is there until the question is answered.
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

// endRuns gives all runs back.
func (n *needs) endRuns() {
	for how, d := range n.runs {
		d.close()
		delete(n.runs, how)
	}
}

// partsOfNeed estimate one part of a Need after the other, the ones that take long last.
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
				bytes, _ := d.open(p, d.allTasks(p).claims) // an error is of sizes that no device takes
				return bytes
			})
		}
	},
}

// remember returns what a map has for a mode, or has f make it.
func remember[T any](of map[device.Mode]T, how device.Mode, f func() T) T {
	v, ok := of[how]
	if !ok {
		v = f()
		of[how] = v
	}
	return v
}

// needForward estimates what the forward pass leaves and takes.
func (d *dry) needForward(p *plan.Plan, n *Need) {
	n.Witness, n.Forward = d.values, d.forward
	switch {
	case d.kept == nil: // they are uploaded
		for i := range p.Graph.Tensors {
			if t := &p.Graph.Tensors[i]; t.Kind != model.Fixed {
				n.Witness += run.TensorNeed(t)
			}
		}
	case d.mode.Values: // of some segments at a time, and what makes them
		n.Witness += d.kept.Recomputed(d.mode.Together())
		n.Forward = max(0, d.values+d.forward-n.Witness)
	}
}

// commits is the most that a commitment of the plan takes.
func (d *dry) commits(p *plan.Plan) (most int64) {
	for i := range p.Trees {
		if bytes, err := d.commit(&p.Trees[i].Commitment); err == nil {
			most = max(most, bytes)
		}
	}
	return most
}

// allTasks are those of the plan in the mode.
func (d *dry) allTasks(p *plan.Plan) *tasks {
	return remember(d.m.needs.tasks, taskMode(d.mode), func() *tasks { return d.tasks(p) })
}

// taskMode is what sub-transcripts depend on of a mode. They take the same however many segments keep their values.
func taskMode(how device.Mode) device.Mode {
	how = how.Forward()
	how.Kept = 0
	return how
}

// commitMode is what commitments depend on of a mode: keys are not committed to, and of a segment that keeps its values a commitment has no
// more at once than of one that recomputes them.
func commitMode(how device.Mode) device.Mode { return device.Mode{Values: how.Values} }

// openMode is what the opening depends on.
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

// TaskNeed estimates the device memory, in bytes, that a stream takes at most while it proves a sub-transcript, beside
// what stays: steps over fewer entries than the threshold are the CPU's, as with backend.Fallback. The estimate is off by
// what depends on values alone: keys that fit into fewer bytes than their table's range. Weights for which there is
// no room as a whole take a piece more. The error says that no device could prove it.
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

// Settle sets the mode that recomputes least, of those in which a proof of the plan takes no more than `all` bytes of the
// device, and no more than `beside` bytes without the weights; 0 stands for no bound. The values of `runs` proofs, at
// least one, are there at a time, or of fewer if they do not fit. It returns what one proof needs.
//
// With less, as many segments keep their values as leave room for some chunks at once, and in the opening for the rows of the others: each
// saves a part of the forward pass for every time that values are wanted.
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

// Would returns what Settle would, and sets nothing.
func (m *Machine) Would(p *plan.Plan, all, beside int64, runs int) *Need {
	defer m.asked()()
	n, _, _ := m.choose(p, all, beside, runs)
	return n
}

// choose chooses the mode that Settle sets, and for how many runs there is room.
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
				if how.Rows && asked == 1 { // others may begin while this proof is opened
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

// widest doubles what tables of an opening may take, unless a budget says what that is, for as long as a proof fits in the mode: products
// with rows are the fewer the larger the tables are.
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

// stayMargin is of which part of the memory an opening leaves free where rows stay that need not.
const stayMargin = 32

// besideOpening is what an opening leaves free in a mode: rows that passes would pack anew may stay there.
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

// openWith is what an opening that takes so many bytes needs in a mode, with holes between blocks of memory where that packs rows of segments.
func openWith(how device.Mode, bytes int64) int64 {
	if how.Packed {
		bytes += bytes / holes
	}
	return bytes
}

// modes lists those that may be chosen, that which recomputes least first.
func (m *Machine) modes(all, beside int64) []device.Mode {
	modes := []device.Mode{{}, {Rows: true}, {Keys: true}, {Keys: true, Rows: true}}
	tables := beside / 2 // the rest is for what they are made of
	for i := range modes {
		modes[i].Tables = tables
	}
	if beside == 0 {
		tables = all / tightTables
		modes = append(modes, device.Mode{Keys: true, Rows: true, Tables: tables})
	}
	if m.Sharing == 1 { // several GPUs have parts of a run each
		for _, packed := range []bool{true, false} {
			for _, ahead := range []bool{true, false} {
				modes = append(modes, device.Mode{Keys: true, Rows: true, Values: true, Ahead: ahead, Packed: packed, Tables: tables})
			}
		}
	}
	if tight := modes[len(modes)-1]; beside > 0 { // and for what stays, such as the trees of many segments of a text
		tight.Tables = beside / 4
		modes = append(modes, tight)
	}
	return modes
}

// tightTables is of which part of a GPU's memory the tables of an opening are at most where memory is short. Elsewhere they take a part of
// the rows' bytes.
const tightTables = 32

// fits says whether a proof beside the values of others, runs in all, takes no more than so many
// bytes, and beside the weights so many; 0 stands for no bound.
func (n *Need) fits(runs int, all, beside int64) bool {
	working := n.Working() + int64(runs-1)*(n.Witness+n.Trees)
	return (all == 0 || n.Fixed+working <= all) && (beside == 0 || working <= beside)
}

// Beside what is kept there is room for so many of the largest chunks at once, or so many ordinary ones, whichever takes more. With more
// the device waits less for the host, but values are recomputed.
const largestAtOnce, ordinaryAtOnce = 2, 4

// atOnce is what some chunks take that are proved at once on so many streams, with what the scheduler leaves free beside several.
func (t *tasks) atOnce(streams int) int64 {
	if streams == 1 || len(t.bytes) == 0 {
		return t.most
	}
	all := slices.Sorted(maps.Values(t.bytes))
	return max(int64(min(streams, largestAtOnce))*t.most, int64(min(streams, ordinaryAtOnce))*all[len(all)/2]) / 4 * 5
}

// holes is of which part of what an opening takes there may be holes between blocks of memory, where it packs the rows of segments.
const holes = 16

// fits returns Need.fits in a mode, with room for some chunks at once on so many streams.
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

// mostKept returns how many segments may keep their values in a mode that fits if none do.
func (m *Machine) mostKept(p *plan.Plan, how device.Mode, fits func(*Need) bool) int {
	beyond := m.needIn(p, how).Witness - m.needs.least.Bytes(how)
	most := func(of int, beyond int64) int { // that fit, if values take so much beyond what they must
		return of - sort.Search(of, func(i int) bool {
			how.Kept = of - i
			n := m.estimate(p, how).Need
			n.Witness += beyond
			return fits(&n)
		})
	}
	from, to := 0, most(m.needs.least.Segments(), 0)
	// Values take about as much beyond the bound for any number of kept segments, so the guess and its neighbour are tried first. If
	// they do not decide it, the range is halved.
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

// Segments returns the segments of a plan's chunks, nil if all values are kept: a chunk is
// proved while the values of its segment are there, as those of so many that follow each other
// may be together.
func (m *Machine) Segments(p *plan.Plan) (of []int, together int) {
	how := m.Mode()
	if !how.Values || !run.InOrder(p.Graph) {
		return nil, 0
	}
	return run.NewSegments(p.Graph, 0).Of, how.Together()
}
