// Package precision chooses number formats with which the outputs of an integer model are within
// a target of the float model's on samples. It begins with formats by the role of each value, finds
// out where errors enter, and makes values there more precise, attempt by attempt.
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

// Choice is the formats that were chosen, and how.
type Choice struct {
	Formats lower.Formats
	// Error is the largest error of an output on the samples, in units of the output's
	// range. A divergence is scaled so that its target is Options.Target, too. First is
	// the error of the first attempt: with Options.Formats, which are usually none, but in mode
	// "exact" and for large transformers with the formats that these begin with.
	Error, First float64
	// Runs is how many models were made and run on the samples.
	Runs int
}

// Choose does what Choose of package quantise says.
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

// choose is Choose with the defaults of options filled in.
func (s *search) choose() (m *lower.Result, c *Choice, err error) {
	defer must.Catch(&err)
	best, first := s.chosen()
	must.OK(s.memory.Finish(best.model, s.opts.Base, s.fg))
	return best.model, &Choice{best.formats, s.inRange(best.error), s.inRange(first), s.runs}, nil
}

// chosen returns the attempt that Choose chooses, and the error of the first one.
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

// inRange returns an error of the search in units of the outputs' range. Within a search, errors are scaled so
// that lower.Target stands for Options.Target.
func (s *search) inRange(e float64) float64 { return e * (s.opts.Target / lower.Target) }

// Bounds on the work of a search. Work is counted in products of numbers.
const (
	sampleWork = 1 << 35 // of all samples of one attempt
	mostRuns   = 48      // attempts of a search
	leastRuns  = 8       // attempts, however large the model is
	searchWork = 1 << 37 // of all attempts, of one sample each
	weightWork = 1 << 6  // of making one weight, as each attempt does
)

// search is the state of a search for formats.
type search struct {
	ctx     context.Context
	fg      *graph.Graph
	ranges  map[string]lower.Range
	opts    lower.Options
	samples []Sample
	groups  []group
	memory  lower.Memory
	runs    int         // models that were made so far
	large   bool        // whether the model is a large transformer and the mode is auto
	free    bool        // whether models are made for one element of a free batch (chooseFree)
	judged  bool        // whether the number of samples is settled (judge)
	worst   int         // the sample that had the largest error so far
	last    sampleRun   // the last run, which localErrors reuses
	arena   arena.Arena // the memory of runs, one after the other
}

// attempt is a model with some formats, and how close it is to the float model.
type attempt struct {
	formats lower.Formats
	model   *lower.Result
	error   float64            // the largest of an output and sample (outputError)
	spread  float64            // √Σ (error/size)² over the outputs, both root mean squares over all samples
	local   map[string]entered // the errors that enter on the first sample; nil if they are not known yet
}

// try makes a model and measures it.
func (s *search) try(f lower.Formats) (a *attempt, err error) {
	defer must.Catch(&err)
	return s.measure(f, must.Get(s.make(f)), math.Inf(1))
}

// localErrors returns the errors that enter an attempt's run on the first sample, by value.
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

// make makes the model with formats f, without its weights.
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

// budget is the number of attempts that a search may take for a model of this size.
func (s *search) budget(m *lower.Result) int {
	work := products(m) + float64(weightWork*m.Making.Entries())
	return max(leastRuns, min(mostRuns, int(searchWork/work)))
}

// move is a step of a search: it makes the values of a group more precise, or the weights that these are
// products with.
type move struct {
	group   int
	weights bool
}

// strategy is how a search makes values more precise, from one attempt to the next.
type strategy struct {
	// moves lists the moves that may help after an attempt, the most promising first, without those
	// that were refused.
	moves func(after *attempt, refused map[move]bool) []move
	// step is the next format of the values of a group, or of their weights.
	step func(g *group, f lower.Format, weights bool) lower.Format
	// budget is the number of runs (search.runs) at which the search stops.
	budget int
	// careful is set if there are many attempts. Then attempts for which no model can be made count, too, and
	// after one whose outputs are much worse than the best, the search goes back to the best.
	careful bool
}

// improve makes values more precise until the model is within the target, the budget is spent
// or there is nothing left to do. It returns the best attempt on the way, as a single step may
// well make the outputs a little worse by chance. If several moves together fail, it tries
// the first half of them, and so on down to a single move, which is then refused.
func (s *search) improve(best *attempt, by strategy) *attempt {
	now := best
	refused := map[move]bool{}
	tried := map[string]bool{}
	most := math.MaxInt // how many moves are made at once
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
		// The same formats are not tried twice.
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

// attempt is try, but returns nil if no model can have these formats together. Such an attempt counts
// as a run only if counts is set.
func (s *search) attempt(f lower.Formats, counts bool) *attempt {
	runs := s.runs
	a, err := s.try(f)
	must.OK(s.ctx.Err())
	if err != nil && !counts {
		s.runs = runs
	}
	return a
}

// widen makes values more precise, first those where the largest errors enter. If the first
// attempt was not far from the target and this does not bring the model near it, all values become finer.
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

// mostSteps is the most steps by which all usual formats of transformers are made finer at once (usual).
const mostSteps = 2

// If the first error is more than far times the target, it does not come from single values, and all
// values become finer together (levels). They do so, too, if making single values finer leaves an error of
// more than missed times the target.
const (
	far    = 16
	missed = 4
)

// levels are the formats that are tried for all values together.
var levels = []lower.Format{
	{Bits: 15, Weights: 13}, {Bits: 18, Weights: 16}, {Bits: 20, Weights: 16},
	{Bits: 20, Weights: lower.FormatWeights}, {Bits: 22, Weights: lower.FormatWeights},
}

// start returns the first attempt, or a better one from which the search goes on: with the usual formats
// of transformers, with those of models that take the logarithm of a spectrum (spectral) or read values
// relatively (relative), or, if the first one is far from the target, with all values finer.
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

// finer returns the formats of all levels, each value having at least its usual format.
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

// best returns the best of an attempt and the attempts with formats starts. It makes no more of
// these once one is within the target.
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

// chance is by what factor the spread may grow by chance when values become finer.
const chance = 1.2

// better reports whether attempt a is better than another one: it is within the target, or neither is
// and its spread is smaller. The largest error decides less, as it is a matter of chance.
func better(a, than *attempt) bool {
	return a.error <= lower.Target || than.error > lower.Target && a.spread < than.spread
}

// moves lists the moves that address the largest errors that enter: those within
// a factor of four of the largest one for which there is a move.
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

// moveOf is the move of a group that addresses an error: of its weights, if it has some and the error is more than
// twice what rounding to the value's scale makes, and otherwise of its values.
func (s *search) moveOf(group int, e entered) move {
	return move{group, s.groups[group].product && e.relative > 2*e.round}
}

// groupOf returns the group of each value, as an index of s.groups.
func (s *search) groupOf() map[string]int {
	of := map[string]int{}
	for i, g := range s.groups {
		for _, name := range g.names {
			of[name] = i
		}
	}
	return of
}

// narrow gives groups smaller formats, or none, where the target is kept with that. It begins with the groups
// that cost most.
func (s *search) narrow(best *attempt) *attempt {
	if len(best.formats) == 0 || best.error > lower.Target {
		return best
	}
	budget := s.budget(best.model)
	most := lower.Target // the error that narrower formats may have
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
		if !ok || given.Bits >= lower.RelativeBits { // relative values keep theirs: samples may not have their smallest entries
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

// lesser lists smaller formats to try in place of one: none, fewer bits, narrower
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
