package lower

import (
	"github.com/prove-model/prove-model/quantise/fixed"
)

// The scores of attention over a text are as many as the square of its length, so that of
// long texts they are most of what is committed to. Their factors are as fine as one
// accumulator holds (factorsOf), and a score is rounded by one look-up, to a scale on which
// the table has all keys that the static bound allows.
const (
	// ScoreTable is the size of that table, whatever the number of its uses: what is saved
	// by tables of exponentials of coarser scores makes up for its rows. It is larger where
	// scores would be coarser than 2^-leastScore. (The roundings of a row's scores are
	// independent, so that their effect is less than one's.)
	ScoreTable = 18
	LeastScore = 7
	// Scores are clamped at ±2^sharedScores or beyond, so that most layers share a table;
	// within that masked ones can be lowered.
	sharedScores = 4
)

// scored reports whether a value are the scores of a text in a large model, which a Softmax
// takes.
func (l *lowering) scored(v *value) bool {
	c := l.consumer(v)
	return c != nil && HasMany(l.fg) && IsSoftmax(c.Op) && c.Inputs[0] == v.name && l.open(c.Output, len(v.shape)-1)
}

// mostLowered is the most bits of exponentials of which those of lowered scores are 0.
const mostLowered = 16

// lowers reports whether the masked ones of scores x are lowered for a Softmax: keys are no
// coarser then, or the model is large and x has a format, which tells what its scores need.
func (l *lowering) lowers(m fixed.Scores, b fixed.Block, x *value) bool {
	t := l.Circuit.Tensors[m.ID]
	if t.Frac < 0 || t.Frac > fixed.FinestKey || b.Bits == 0 || max(b.Bits, b.Summed) > mostLowered {
		return false
	}
	least := fixed.FinestKeys(m, t.Max-t.Min, t.Frac)
	if l.formatted(x) > 0 && HasMany(l.fg) {
		least = 0
	}
	spread := t.Max - t.Min + l.Gap(m)
	m.Keys = l.KeysOf(m)
	fine := fixed.FinestKeys(m, spread, t.Frac)
	return fine >= least && t.Frac+fine >= fixed.LeastKey && fixed.KeyBits(m, spread, t.Frac, fine) <= m.Keys
}
