// Package precision chooses number formats with which an integer model is within a target of
// the float model on samples: priors by the role of a value, errors by where they enter, and
// a search.
package precision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Choice is how formats were chosen.
type Choice struct {
	Formats lower.Formats
	// Error is that of the outputs on the samples: the largest, in units of their
	// range; a divergence counts such that the target for it is Options.Target. First is
	// what it was at the first attempt: without any formats, but of large transformers.
	Error, First float64
	// Runs is how many integer runs of all samples this took.
	Runs int
}

// Choose is Choose of package quantise, which says what it does.
func Choose(
	ctx context.Context, fg *graph.Graph, samples []Sample, ranges map[string]lower.Range, opts lower.Options,
) (*lower.Result, *Choice, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, nil, err
	}
	if batch := lower.Batch(fg); batch != "" && len(samples) > 0 && (opts.Length == 0 || lower.Length(fg) == "") {
		m, c, err := chooseFree(ctx, fg, batch, samples, ranges, opts)
		if !errors.Is(err, errOneBatch) {
			return m, c, err
		}
	}
	if opts.Base != nil && len(opts.Formats) == 0 {
		opts.Formats = opts.Base.Formats(fg)
	}
	s := &search{ctx: ctx, fg: fg, ranges: ranges, opts: opts, samples: slices.Clone(samples)}
	defer s.arena.Close()
	return s.choose()
}

// choose is Choose with complete options.
func (s *search) choose() (m *lower.Result, c *Choice, err error) {
	defer must.Catch(&err)
	best, first := s.chosen()
	must.OK(s.memory.Finish(best.model, s.opts.Base, s.fg))
	return best.model, &Choice{best.formats, s.inRange(best.error), s.inRange(first), s.runs}, nil
}

// chosen returns the best attempt, and the error of the first one.
func (s *search) chosen() (best *attempt, first float64) {
	mode, isLarge := s.opts.Mode, large(s.fg)
	if s.large = mode == lower.ModeAuto && isLarge; s.large {
		return s.chooseLarge()
	}
	if mode == lower.ModeExact {
		s.opts.Formats = s.widest()
	}
	best = must.Get(s.try(s.opts.Formats))
	first = best.error
	if mode == lower.ModeAuto || mode == lower.ModeExact && !isLarge {
		best = s.widen(best)
	}
	if mode == lower.ModeAuto {
		best = s.narrow(best)
	}
	return best, first
}

// inRange returns an error of the search in units of the range.
func (s *search) inRange(e float64) float64 { return e * (s.opts.Target / lower.Target) }

// Bounds on the work of a search: samples that are run, and runs of them all, by
// the size of a run in products of numbers.
const (
	sampleWork = 1 << 35
	mostRuns   = 48
	leastRuns  = 8
	searchWork = 1 << 37
	weightWork = 1 << 6 // of a weight, which is made anew for each model
)

type search struct {
	ctx     context.Context
	fg      *graph.Graph
	ranges  map[string]lower.Range
	opts    lower.Options
	samples []Sample
	groups  []group
	memory  lower.Memory
	runs    int
	large   bool        // whether the model is, and the mode is auto
	free    bool        // whether models are of one element of a free batch (chooseFree)
	judged  bool        // whether the number of samples is known
	worst   int         // sample, as far as is known
	last    sampleRun   // of the only sample, of the last attempt
	arena   arena.Arena // of runs, one after the other
}

// attempt is a model with some formats and what is known of it.
type attempt struct {
	formats lower.Formats
	model   *lower.Result
	error   float64
	spread  float64            // root of the sum of squares of each output's root mean square error, in units of its own
	local   map[string]entered // of the first sample; nil if it is not known yet
}

// try makes a model and measures it.
func (s *search) try(f lower.Formats) (a *attempt, err error) {
	defer must.Catch(&err)
	return s.measure(f, must.Get(s.make(f)), math.Inf(1))
}

// localErrors tells where the errors of an attempt enter on the first sample.
func (s *search) localErrors(a *attempt) map[string]entered {
	if a.local != nil {
		return a.local
	}
	if s.last.of != a {
		s.forget()
		s.memory.Fill(a.model)
		s.last = s.run(a.model, s.samples[0].Inputs)
	}
	defer s.forget()
	a.local = localErrors(s.last.at, s.samples[0].Graph, s.last.witness)
	return a.local
}

// make makes a model but for its weights.
func (s *search) make(f lower.Formats) (*lower.Result, error) {
	s.runs++
	opts := s.opts
	opts.Formats, opts.Searched = f, true
	m, err := lower.Lower(s.fg, s.ranges, opts, &s.memory)
	if err != nil || !s.free {
		return m, err
	}
	if m.OneBatch != nil {
		return nil, errOneBatch
	}
	return m.At(model.Instance{Sizes: []int{1}})
}

// budget is the number of runs that a search may take.
func (s *search) budget(m *lower.Result) int {
	work := products(m) + float64(weightWork*m.Making.Entries())
	return max(leastRuns, min(mostRuns, int(searchWork/work)))
}

// A move makes a group of values, or the weights of their products, more precise.
type move struct {
	group   int
	weights bool
}

// A strategy is how a search makes values more precise, from one attempt to the next.
type strategy struct {
	// moves lists what may be made more precise after an attempt, in the order of what that
	// promises, without moves that were refused.
	moves func(after *attempt, refused map[move]bool) []move
	// step is the next format of the values of a group, or of their weights.
	step func(g *group, f lower.Format, weights bool) lower.Format
	// budget is the number of runs that the search may have taken in the end.
	budget int
	// careful strategies have many attempts. Those that fail count, and one whose outputs are
	// much worse than the best is not gone on from.
	careful bool
}

// improve makes values more precise until the model is within the target, the budget is spent
// or there is nothing left to do. It returns the best attempt on the way: a single step may
// well make the outputs a little worse by chance. Of moves that lead nowhere together it tries
// the first half, down to a single one, which it then refuses.
func (s *search) improve(best *attempt, by strategy) *attempt {
	now := best
	refused := map[move]bool{}
	tried := map[string]bool{}
	most := math.MaxInt // moves at a time
	for best.error > lower.Target && s.runs < by.budget {
		moves := by.moves(now, refused)
		if len(moves) == 0 {
			break
		}
		moves = moves[:min(len(moves), most)]
		f := maps.Clone(now.formats)
		if f == nil {
			f = lower.Formats{}
		}
		for _, mv := range moves {
			g := &s.groups[mv.group]
			for _, name := range g.names {
				f[name] = by.step(g, f[name], mv.weights)
			}
		}
		// Formats that were tried before lead nowhere new.
		key := fmt.Sprint(f)
		var a *attempt
		if !tried[key] {
			tried[key] = true
			a = s.attempt(f, by.careful)
		}
		if a == nil || by.careful && a.error > lower.Target && a.spread > chance*best.spread {
			if by.careful {
				now = best
			}
			if most = len(moves) / 2; most == 0 {
				refused[moves[0]], most = true, math.MaxInt
			}
			continue
		}
		now, most = a, math.MaxInt
		if better(now, best) {
			best = now
			if by.careful {
				clear(refused)
			}
		}
	}
	return best
}

// attempt is try, but nil where the formats cannot be had together; then it counts as a run only
// if that is asked for.
func (s *search) attempt(f lower.Formats, counts bool) *attempt {
	runs := s.runs
	a, err := s.try(f)
	must.OK(s.ctx.Err())
	if err != nil && !counts {
		s.runs = runs
	}
	return a
}

// widen makes values more precise, those where the largest errors enter first. Where the first
// attempt was not far from the target and this does not bring it near, all values become finer.
func (s *search) widen(first *attempt) *attempt {
	if first.error <= lower.Target {
		return first
	}
	s.groups = alike(s.fg)
	best := s.improve(s.start(first), strategy{s.moves, (*group).next, s.budget(first.model), true})
	if first.error <= far*lower.Target && best.error > missed*lower.Target {
		best = s.best(best, s.finer())
	}
	return best
}

// mostSteps is how many steps finer than usual formats are tried all at once.
const mostSteps = 2

// far is how many times the target's the first error is where single values are not
// what it comes from: all values become finer together. So they do where single ones did not
// bring it below missed times the target.
const (
	far    = 16
	missed = 4
)

// levels are the formats of all values that are tried for that.
var levels = []lower.Format{
	{Bits: 15, Weights: 13}, {Bits: 18, Weights: 16}, {Bits: 20, Weights: 16},
	{Bits: 20, Weights: lower.FormatWeights}, {Bits: 22, Weights: lower.FormatWeights},
}

// start returns the first attempt, or one with the usual formats of transformers,
// as fine as the target needs, with those of a spectrum before its logarithm, or of models
// that are far from it with all values finer, if that is better.
func (s *search) start(first *attempt) *attempt {
	var starts []lower.Formats
	for steps := range mostSteps + 1 {
		starts = append(starts, s.usual(steps, 0))
	}
	starts = append(starts, spectral(s.fg, s.groups), relative(s.fg, s.groups, s.ranges, s.opts.Headroom))
	starts = slices.DeleteFunc(starts, func(f lower.Formats) bool { return len(f) == 0 })
	if first.error > far*lower.Target {
		starts = append(starts, s.finer()...)
	}
	return s.best(first, starts)
}

// finer are the levels of all values.
func (s *search) finer() []lower.Formats {
	finest := s.usual(mostSteps, 0)
	var all []lower.Formats
	for _, f := range levels {
		all = append(all, allOf(s.groups, f, finest))
	}
	// Public values cost nothing.
	last := maps.Clone(all[len(all)-1])
	for _, in := range s.fg.Inputs {
		last[in.Name] = lower.Format{Bits: fixed.FormatBits}
	}
	return append(all, last)
}

// best returns the best of an attempt and those with some formats, of which none is made after
// one within the target.
func (s *search) best(best *attempt, starts []lower.Formats) *attempt {
	for _, f := range starts {
		if best.error <= lower.Target {
			break
		}
		if a := s.attempt(f, true); a != nil && better(a, best) {
			best = a
		}
	}
	return best
}

// chance is how much larger a spread may be by chance than one of no finer values.
const chance = 1.2

// better reports whether a model is closer to the target: by the spread of its
// outputs, since the largest error is a matter of chance.
func better(a, than *attempt) bool {
	return a.error <= lower.Target || than.error > lower.Target && a.spread < than.spread
}

// moves lists the moves that address the largest of the errors that enter: within
// a factor of four of the largest one that can be.
func (s *search) moves(a *attempt, refused map[move]bool) []move {
	local, before := s.localErrors(a), segments(s.fg, a.model)
	scores := map[move]float64{}
	groupOf := s.groupOf()
	for name, e := range local {
		for _, source := range append(before[name], name) {
			mv := s.moveOf(groupOf[source], e)
			scores[mv] = math.Max(scores[mv], e.relative)
		}
	}
	for i, in := range s.samples[0].Graph.Inputs {
		mv, t := move{groupOf[in.Name], false}, &a.model.Graph.Tensors[a.model.Held[in.Name]]
		scores[mv] = math.Max(scores[mv], columnError(t, s.samples[0].Inputs[i], rowOf(in.Shape, false)))
	}
	most := 0.0
	var moves []move
	for i := range s.groups {
		g := &s.groups[i]
		f := a.formats[g.names[0]]
		for _, mv := range []move{{i, false}, {i, true}} {
			if scores[mv] != 0 && !refused[mv] && g.next(f, mv.weights) != f {
				moves = append(moves, mv)
				most = math.Max(most, scores[mv])
			}
		}
	}
	moves = slices.DeleteFunc(moves, func(mv move) bool { return scores[mv] < most/4 })
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(scores[b], scores[a]) })
	return moves
}

// moveOf is the move of a group that addresses an error: one that is far larger than rounding to a scale makes comes
// from weights.
func (s *search) moveOf(group int, e entered) move {
	return move{group, s.groups[group].product && e.relative > 2*e.round}
}

// groupOf are the numbers of values' groups.
func (s *search) groupOf() map[string]int {
	of := map[string]int{}
	for i, g := range s.groups {
		for _, name := range g.names {
			of[name] = i
		}
	}
	return of
}

// narrow takes back what is not needed for the target, in whole or in part, the
// dearest first.
func (s *search) narrow(best *attempt) *attempt {
	if len(best.formats) == 0 || best.error > lower.Target {
		return best
	}
	budget := s.budget(best.model)
	most := lower.Target
	if s.logits() {
		most = math.Max(narrowKL*lower.Target, best.error)
	}
	costs := map[string]int{}
	for _, c := range best.model.Chosen() {
		costs[c.Value] = c.LookUps + c.TableRows
	}
	dear := func(g group) (total int) {
		for _, name := range g.names {
			total += costs[name]
		}
		return total
	}
	dearest := slices.SortedStableFunc(slices.Values(s.groups), func(a, b group) int { return cmp.Compare(dear(b), dear(a)) })
	for _, g := range dearest {
		names := g.names
		given, ok := best.formats[names[0]]
		if !ok || given.Bits >= lower.RelativeBits { // of entries whose sizes samples may not show
			continue
		}
		for _, less := range lesser(given) {
			if s.runs >= budget {
				return best
			}
			f := maps.Clone(best.formats)
			for _, name := range names {
				if less == (lower.Format{}) {
					delete(f, name)
				} else {
					f[name] = less
				}
			}
			m, err := s.make(f)
			if err != nil || cost(m) >= cost(best.model) {
				continue
			}
			a, err := s.measure(f, m, most)
			must.OK(s.ctx.Err())
			if err == nil && a.error <= most {
				best = a
				break
			}
		}
	}
	return best
}

// lesser lists formats that may do instead of one: none, fewer bits, narrower
// weights.
func lesser(f lower.Format) []lower.Format {
	list := []lower.Format{{}}
	for _, b := range bitSteps {
		if b < f.Bits {
			list = append(list, lower.Format{Bits: b, Weights: f.Weights})
		}
	}
	if f.Bits > 0 && f.Weights > 0 {
		list = append(list, lower.Format{Bits: f.Bits}, lower.Format{Weights: f.Weights})
	}
	for _, w := range weightSteps {
		if w < f.Weights {
			list = append(list, lower.Format{Bits: f.Bits, Weights: w})
		}
	}
	return list
}
