package precision

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Every attempt with a large transformer is expensive: it makes billions of weights and multiplies
// with them. So there are few attempts. The first one has the usual formats. Each later one makes
// everything finer at once that, by the errors that entered in the attempt before, has to be finer for
// the target.

// fewRuns is how many attempts a large transformer has.
var fewRuns = 4

// large reports whether a model is a transformer with so many weights that it has few attempts.
func large(fg *graph.Graph) bool { return lower.HasMany(fg) && hasNorms(fg) }

// chooseLarge returns what chosen does, for a large model.
func (s *search) chooseLarge() (best *attempt, first float64) {
	s.groups = alike(s.fg)
	plain := s.usual(0, 0)
	if s.opts.Base != nil {
		plain = s.opts.Formats
	}
	best = s.attempt(s.widenWeights(plain), false)
	if best == nil { // there is no model with these formats
		best = s.attempt(plain, false)
	}
	if best == nil {
		best = must.Get(s.try(s.opts.Formats))
	}
	first = best.error
	return s.improve(best, strategy{s.enough, (*group).much, fewRuns, false}), first
}

// widenWeights returns formats f, but with the finest formats for all weights like those of which half
// the channels would have too few bits, because a few other channels are far larger
// (Result.Underprecise). That is known before any weights are made.
func (s *search) widenWeights(f lower.Formats) lower.Formats {
	m, err := s.make(f)
	s.runs--
	if err != nil || len(m.Underprecise) == 0 {
		return f
	}
	f = maps.Clone(f)
	for _, g := range s.groups {
		if slices.ContainsFunc(g.names, func(name string) bool { return slices.Contains(m.Underprecise, name) }) {
			for _, name := range g.names {
				f[name] = lower.Format{Bits: f[name].Bits, Weights: lower.FormatWeights}
			}
		}
	}
	return f
}

// much takes the place of next for a model that has few attempts: weights get usualWeights bits, and
// after that the most there are, in two parts.
func (g *group) much(f lower.Format, weights bool) lower.Format {
	if !weights {
		return g.next(f, false)
	}
	if f.Weights < usualWeights {
		f.Weights = usualWeights
	} else {
		f.Weights = lower.FormatWeights
	}
	return f
}

// enough lists moves for the errors that enter, the largest first, until the errors that are left
// should keep the outputs within half the target. Independent errors add up as their squares, and a
// divergence is in proportion to such a sum of squares.
func (s *search) enough(a *attempt, refused map[move]bool) []move {
	local, before, groupOf := s.localErrors(a), segments(s.fg, a.model), s.groupOf()
	left, moves := 0.0, map[string][]move{} // the squares of errors not yet addressed, and the possible moves by value
	names := slices.Sorted(maps.Keys(local))
	for _, name := range names {
		e := local[name]
		left += float64(e.relative * e.relative)
		for _, source := range append(before[name], name) {
			mv := s.moveOf(groupOf[source], e)
			if f := a.formats[source]; !refused[mv] && s.groups[mv.group].much(f, mv.weights) != f {
				moves[name] = append(moves[name], mv)
			}
		}
	}
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(local[y].relative, local[x].relative) })
	may := lower.Target / 2 / a.error // squares that may be left: a part of left, the square of this ratio or, for a divergence, the ratio
	if !s.logits() {
		may *= may
	}
	may *= left
	var list []move
	for _, name := range names {
		if left <= may {
			break
		}
		for _, mv := range moves[name] {
			if !slices.Contains(list, mv) {
				list = append(list, mv)
			}
		}
		if len(moves[name]) > 0 {
			left -= float64(local[name].relative * local[name].relative)
		}
	}
	return list
}
