package run

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// The order of a circuit's steps on a device. Many steps have few entries and take no longer than
// their launch. So steps form a chain if each entry of one depends only on the same entry of the others,
// and all chains that do not depend on each other are one launch.

// schedule is the steps of one part, in turns. What a turn reads was made in an earlier turn, or
// outside of the schedule. Tensors are identified by their addresses.
type schedule struct {
	on    *part
	row   bool                   // the steps are those of a row circuit
	room  int                    // accumulators that there are
	turns []turn                 // in the order in which they run
	made  map[kernels.Ptr]*chain // by address of a tensor: the chain that makes it
	sums  []sumSpan              // accumulators in use, by turn
	most  int                    // accumulators that are used, at most

	tallies []kernels.Tally // of look-ups, which are counted after all turns
}

// turn is what is launched together: accumulators are cleared, then products add to them, then come
// single launches, and then one launch of all chains.
type turn struct {
	clears   []sumSpan
	products []multiplication
	single   []launch
	chains   []*chain
}

// chain is a chain to which steps may still be added. A single launch is a chain without steps.
type chain struct {
	kernels.Chain
	turn, words int    // its turn, and the words of its records
	wide        bool   // some step has a warp for an entry
	into        *chain // the chain that it has been merged into; nil if none
}

// sumSpan is n accumulators from number `at` on, which are in use in turns from … to.
type sumSpan struct{ at, n, from, to int }

// maker returns the chain that makes a tensor, nil if none in the schedule does.
func (s *schedule) maker(of kernels.Ptr) *chain {
	c := s.made[of]
	for c != nil && c.into != nil {
		c = c.into
	}
	return c
}

// after returns the first turn in which all tensors can be read.
func (s *schedule) after(reads ...kernels.Ptr) int {
	turn := 0
	for _, of := range reads {
		if c := s.maker(of); c != nil {
			turn = max(turn, c.turn+1)
		}
	}
	return turn
}

// at returns turn k, and adds turns up to it if they are not there.
func (s *schedule) at(k int) *turn {
	for len(s.turns) <= k {
		s.turns = append(s.turns, turn{})
	}
	return &s.turns[k]
}

// single adds a launch that reads one tensor and makes another, at the address makes.
func (s *schedule) single(l launch, reads, makes kernels.Ptr) {
	k := s.after(reads)
	t := s.at(k)
	t.single = append(t.single, l)
	s.made[makes] = &chain{turn: k}
}

const (
	// mostWide is the most entries of a chain that mixes steps with a lane for an entry and steps
	// with a warp for an entry. With more entries, lanes that wait cost more than the saved launch.
	mostWide = 1 << 13
	// mostMerged is the most steps that are put behind others in a chain which they do not depend
	// on. Chains are merged so that a step which reads both can join them.
	mostMerged = 8
	// mostRowWords is the most words of records of a chain of a row.
	mostRowWords = 4096
)

// read is a tensor that a step reads. inPlace says that each entry of the step reads only the same entry of it.
type read struct {
	at      kernels.Ptr
	inPlace bool
}

// reads returns the tensors that a step reads in its terms, and as a denominator. In a row circuit a term of several summands does
// not count as in place.
func (s *schedule) reads(x *kernels.Step) (all []read) {
	if x.Kind == kernels.DivideStep {
		all = append(all, read{x.Den.At, true})
	}
	for _, t := range x.Terms {
		for _, o := range t.Operands {
			all = append(all, read{o.At, o.InPlace() && (!s.row || t.Summands == 1)})
		}
	}
	return all
}

// place returns the turn of a new chain x of one step, which must come later than turn `after`, and the
// chains that the step continues, if any: these are to be merged. The step may join a turn only if all that it
// reads from that turn is in place, from chains over as many entries. If that is not so, or the merged chain
// would be too long, it begins a chain in the next turn.
func (s *schedule) place(x *chain, reads []read, after int) (turn int, join []*chain) {
	last, n := after, x.Chain[0].N
	for _, r := range reads {
		if c := s.maker(r.at); c != nil {
			last = max(last, c.turn)
		}
	}
	words, steps, longest := x.words, 0, 0
	for _, r := range reads {
		switch c := s.maker(r.at); {
		case c == nil || c.turn < last:
		case len(c.Chain) == 0 || !r.inPlace || c.Chain[0].N != n || c.wide != x.wide && n > mostWide:
			return last + 1, nil
		case !slices.Contains(join, c):
			words, steps, longest = words+c.words, steps+len(c.Chain), max(longest, len(c.Chain))
			join = append(join, c)
		}
	}
	full := words > kernels.MostWords || steps-longest > mostMerged
	if s.row { // in a row, steps of a chain that do not depend on each other run at the same time: mostMerged does not apply
		full = words > mostRowWords
	}
	if len(join) == 0 || last == after || full {
		return last + 1, nil
	}
	return last, join
}

// step adds a step, and before it the products that add to its accumulators. These get a span of
// accumulators from the turn of the products to that of the step; if none is free, both move to later turns.
func (s *schedule) step(x *kernels.Step, products []multiplication) {
	c, reads := &chain{Chain: kernels.Chain{x}}, s.reads(x)
	c.words, c.wide = x.Size()
	after := -1
	for _, m := range products {
		after = max(after, s.after(m.reads...))
	}
	var join []*chain
	c.turn, join = s.place(c, reads, after)
	for len(products) > 0 { // until a turn has room for the accumulators
		if c.turn > after+1 {
			after = c.turn - 1 // products come just before the step, so that accumulators are in use for a short time
		}
		if at, ok := s.spanFor(x.N, after, c.turn); ok {
			x.Acc = kernels.AccOfLaunch + kernels.Ptr(8*at)
			t := s.at(after)
			span := sumSpan{at, x.N, after, c.turn}
			s.sums, t.clears, s.most = append(s.sums, span), append(t.clears, span), max(s.most, at+x.N)
			for _, m := range products {
				m.at = at
				t.products = append(t.products, m)
			}
			break
		}
		after++
		c.turn, join = s.place(c, reads, after)
	}
	if len(join) > 0 {
		to := join[0]
		for _, other := range append(join[1:], c) {
			to.Chain, to.words, to.wide = append(to.Chain, other.Chain...), to.words+other.words, to.wide || other.wide
			other.Chain, other.into = nil, to
		}
		c = to
	} else {
		t := s.at(c.turn)
		t.chains = append(t.chains, c)
	}
	for _, out := range []kernels.Ptr{x.Out.At, x.Lo.At} {
		if out != 0 {
			s.made[out] = c
		}
	}
}

// tally adds keys that lie in memory to those that are counted after all turns.
func (s *schedule) tally(table *model.Table, counts kernels.Ptr, keys kernels.TallyKeys) {
	i := slices.IndexFunc(s.tallies, func(t kernels.Tally) bool { return t.Counts == counts })
	if i < 0 {
		i = len(s.tallies)
		s.tallies = append(s.tallies, kernels.Tally{Table: table, Counts: counts})
	}
	s.tallies[i].Keys = append(s.tallies[i].Keys, keys)
}

// spanFor returns the first accumulator of n that are free in turns from … to (first fit), and whether there is room.
func (s *schedule) spanFor(n, from, to int) (at int, ok bool) {
	var used []sumSpan
	for _, x := range s.sums {
		if x.from <= to && from <= x.to {
			used = append(used, x)
		}
	}
	slices.SortFunc(used, func(a, b sumSpan) int { return cmp.Compare(a.at, b.at) })
	for _, x := range used {
		if at+n <= x.at {
			break
		}
		at = max(at, x.at+x.n)
	}
	return at, at+n <= s.room
}

// launches returns the launches of all turns, and last the one that counts look-ups. It adds their records
// to the part's.
func (s *schedule) launches() []launch {
	var all []launch
	for i := range s.turns {
		t := &s.turns[i]
		if s.row {
			all = append(all, t.sets()...)
		}
		for _, x := range joined(t.clears) {
			all = append(all, func(w *work) error { return w.dev.Clear(kernels.At[int64](w.acc, x.at), 8*x.n) })
		}
		all = append(append(all, multiplied(t.products)...), t.single...)
		var chains []kernels.Chain
		for _, c := range t.chains {
			if c.into == nil {
				chains = append(chains, c.Chain)
			}
		}
		switch {
		case len(chains) == 0:
		case s.row:
			l := recorded(s.on.records.AddRow(chains...))
			all = append(all, func(w *work) error { return kernels.RunRow(w.dev, l, &w.bases, w.acc) })
		default:
			l := recorded(s.on.records.Add(chains...))
			all = append(all, func(w *work) error {
				if w.again {
					return kernels.RunStepsAgain(w.dev, l, &w.bases, w.acc)
				}
				return kernels.RunSteps(w.dev, l, &w.bases, w.acc)
			})
		}
	}
	l := recorded(s.on.records.AddTallies(s.tallies))
	return append(all, func(w *work) error {
		if w.again {
			return nil
		}
		return kernels.RunTallies(w.dev, l, &w.bases)
	})
}

// recorded returns a launch that was added to records, and gives up with errNot if that failed.
func recorded[T any](l T, err error) T {
	if err != nil {
		device.Check(errNot)
	}
	return l
}

// sets removes from a row's turn the products that can set their accumulators in place of adding to them, if they are the first ones
// there. Then these accumulators need not be cleared. It returns one launch for all of them, or none.
func (t *turn) sets() []launch {
	var first, others []multiplication
	set := map[int]bool{} // by first accumulator: whether the first product there sets it
	for _, m := range t.products {
		_, later := set[m.at]
		if !later {
			set[m.at] = m.set != nil
		}
		if !later && m.set != nil {
			first = append(first, m)
		} else {
			others = append(others, m)
		}
	}
	if len(first) == 0 {
		return nil
	}
	t.products = others
	t.clears = slices.DeleteFunc(t.clears, func(x sumSpan) bool { return set[x.at] })
	return []launch{func(w *work) error {
		var list []kernels.MatMul
		for _, m := range first {
			list = append(list, m.set(w, m.at))
		}
		return kernels.MultiplyRows(w.dev, list)
	}}
}

// multiplied returns launches for products that add to accumulators. Products with the same matrix are in
// one, in which they share what the kernels make of the matrix.
func multiplied(products []multiplication) []launch {
	var order []model.TensorID
	by := map[model.TensorID][]multiplication{}
	for _, m := range products {
		if by[m.by] == nil {
			order = append(order, m.by)
		}
		by[m.by] = append(by[m.by], m)
	}
	var all []launch
	for _, id := range order {
		all = append(all, func(w *work) error {
			var b kernels.Planes
			defer b.Free(w.dev)
			for _, m := range by[id] {
				if err := m.do(w, m.at, &b); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all
}

// joined merges spans that are adjacent.
func joined(spans []sumSpan) []sumSpan {
	slices.SortFunc(spans, func(a, b sumSpan) int { return cmp.Compare(a.at, b.at) })
	var out []sumSpan
	for _, x := range spans {
		if k := len(out) - 1; k >= 0 && out[k].at+out[k].n == x.at {
			out[k].n += x.n
			continue
		}
		out = append(out, x)
	}
	return out
}
