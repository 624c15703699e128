package run

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// The order of a circuit's steps on a device. Many are over few entries, and take no longer than
// their launch. So steps whose entries depend on no others of each other are a chain, and all
// chains that depend on none of each other are one launch.

// schedule are steps of one part, in turns: what a turn reads was made in turns before it, or
// outside of the schedule. Tensors are known by their addresses.
type schedule struct {
	on    *part
	row   bool // the steps are those of a row
	room  int  // for accumulators
	turns []turn
	made  map[kernels.Ptr]*chain
	sums  []sumSpan
	most  int // accumulators that are used

	tallies []kernels.Tally // of look-ups, when all turns are over
}

// turn is a launch of chains, and before it launches of their own, and products that add to
// accumulators, which are cleared first.
type turn struct {
	clears   []sumSpan
	products []multiplication
	single   []launch
	chains   []*chain
}

// chain is one that is not complete, or a launch of its own, which has no steps.
type chain struct {
	kernels.Chain
	turn, words int
	wide        bool
	into        *chain // that it has become part of
}

// sumSpan are n accumulators from one on, which are in use in some turns.
type sumSpan struct{ at, n, from, to int }

// maker returns what makes a tensor, nil if nothing in the schedule does.
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

// at returns the turn.
func (s *schedule) at(k int) *turn {
	for len(s.turns) <= k {
		s.turns = append(s.turns, turn{})
	}
	return &s.turns[k]
}

// single adds a launch of its own that reads a tensor and makes one.
func (s *schedule) single(l launch, reads, makes kernels.Ptr) {
	k := s.after(reads)
	t := s.at(k)
	t.single = append(t.single, l)
	s.made[makes] = &chain{turn: k}
}

const (
	// mostWide is the most entries of a chain in which some steps have a lane for an entry and
	// others a warp: with more the launch that is saved takes less than lanes that wait.
	mostWide = 1 << 13
	// mostMerged is how many steps, at most, are put behind others that they do not depend on, so
	// that what reads both can follow.
	mostMerged = 8
	// mostRowWords is how many words of records a chain of a row has at most.
	mostRowWords = 4096
)

// read is a tensor that a step reads; inPlace if only where its own entry is.
type read struct {
	at      kernels.Ptr
	inPlace bool
}

// reads returns what a step reads itself. Of a row's steps one of several summands reads no other step of its chain.
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

// place returns the turn of a step that runs after a turn, and the chains that it continues, if any:
// they become one.
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
	if s.row { // whose steps are at one time if they do not depend on each other
		full = words > mostRowWords
	}
	if len(join) == 0 || last == after || full {
		return last + 1, nil
	}
	return last, join
}

// step adds a step, with launches before it that add products of other tensors
// to its accumulators.
func (s *schedule) step(x *kernels.Step, products []multiplication) {
	c, reads := &chain{Chain: kernels.Chain{x}}, s.reads(x)
	c.words, c.wide = x.Size()
	after := -1
	for _, m := range products {
		after = max(after, s.after(m.reads...))
	}
	var join []*chain
	c.turn, join = s.place(c, reads, after)
	for len(products) > 0 { // until there is room for accumulators
		if c.turn > after+1 {
			after = c.turn - 1 // no sooner than they are wanted
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

// tally counts look-ups whose keys lie in memory, when all turns are over.
func (s *schedule) tally(table *model.Table, counts kernels.Ptr, keys kernels.TallyKeys) {
	i := slices.IndexFunc(s.tallies, func(t kernels.Tally) bool { return t.Counts == counts })
	if i < 0 {
		i = len(s.tallies)
		s.tallies = append(s.tallies, kernels.Tally{Table: table, Counts: counts})
	}
	s.tallies[i].Keys = append(s.tallies[i].Keys, keys)
}

// spanFor returns where n accumulators are free from one turn to another.
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

// launches returns those of all turns, and the one that counts, and adds what they go by to the
// part's records.
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

// recorded returns a launch that was added to records, and gives up if that was not possible.
func recorded[T any](l T, err error) T {
	if err != nil {
		device.Check(errNot)
	}
	return l
}

// sets takes out of a row's turn the products that can be the first ones of their accumulators, which need not be cleared then, and
// returns the launch that they are, if there are any.
func (t *turn) sets() []launch {
	var first, others []multiplication
	set := map[int]bool{} // whether the first product of accumulators sets them
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

// multiplied returns the launches of products that add to accumulators, one for all
// with the same matrix.
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

// joined makes one of spans that lie behind each other.
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
