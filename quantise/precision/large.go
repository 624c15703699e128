package precision

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Of large transformers every attempt is dear: billions of weights are made and multiplied
// with. So there are few. The first has the usual formats, and every other one all that is
// to be finer for the target, as far as the errors tell that entered in the one before.

// fewRuns is how many attempts a large transformer has.
var fewRuns = 4

// large reports whether a model is a transformer for which few attempts have to do.
func large(fg *graph.Graph) bool { return lower.HasMany(fg) && hasNorms(fg) }

// chooseLarge is chosen for a large model.
func (s *search) chooseLarge() (best *attempt, first float64) {
	s.groups = alike(s.fg)
	plain := s.usual(0, 0)
	if s.opts.Base != nil {
		plain = s.opts.Formats
	}
	best = s.attempt(s.widenWeights(plain), false)
	if best == nil { // it cannot have these formats
		best = s.attempt(plain, false)
	}
	if best == nil {
		best = must.Get(s.try(s.opts.Formats))
	}
	first = best.error
	return s.improve(best, strategy{s.enough, (*group).much, fewRuns, false}), first
}

// widenWeights returns formats with those for weights that do not give half the channels enough
// bits, since a few others are far larger, made as fine as there are: that is seen before
// any weights are made.
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

// much is next for a model that has few attempts: weights that do not suffice get all bits
// that there are, in two parts.
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

// enough lists moves that address so many of the errors that enter that what is left of
// them should keep the outputs within half the target, the largest first. Errors of values that
// have nothing to do with each other add up as their squares do, as does a divergence.
func (s *search) enough(a *attempt, refused map[move]bool) []move {
	local, before, groupOf := s.localErrors(a), segments(s.fg, a.model), s.groupOf()
	left, moves := 0.0, map[string][]move{} // that are open, by where errors enter
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
	may := lower.Target / 2 / a.error
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
