package quantise

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// The scores of attention over a text are as many as the square of its length, so that of
// long texts they are most of what is committed to. Their factors are as fine as one
// accumulator holds (factorsOf), and a score is rounded by one look-up, to a scale on which
// the table has all keys that the static bound allows.
const (
	// scoreTable is the size of that table, whatever the number of its uses: what is saved
	// by tables of exponentials of coarser scores makes up for its rows. It is larger where
	// scores would be coarser than 2^-leastScore. (The roundings of a row's scores are
	// independent, so that their effect is less than one's.)
	scoreTable = 18
	leastScore = 7
	// Scores are clamped at ±2^sharedScores or beyond, so that most layers share a table;
	// within that masked ones can be lowered.
	sharedScores = 4
	// leastFactors is the least size of factors in one accumulator; limbs do for fewer.
	leastFactors = 11
)

// attentionFormat are the bits of scores of attention and of the two factors.
type attentionFormat struct{ scores, a, b int }

// priorAttention suits scores of any number.
var priorAttention = attentionFormat{scoreBits, factorBits, factorBits}

// scores reports whether a node makes the scores of attention.
func (a *defUse) scores(n *graph.Node) bool {
	if !a.attends(n) {
		return false
	}
	x := a.by[a.unmoved(n.Inputs[0])]
	return x == nil || !isSoftmax(x.Op)
}

// softened reports whether a value is what a Softmax takes, and nothing else reads it.
func (a *defUse) softened(name string) bool {
	list := a.readers[name]
	return len(list) == 1 && isSoftmax(list[0].Op) && list[0].Inputs[0] == name
}

// factorsOf are the bits of the factors of a sum of so many products, of at most factorBits
// each, for which one accumulator holds it; false if they are too few. The second may have
// one more: the keys of attention have fewer entries than the queries.
func factorsOf(count int) (a, b int, ok bool) {
	a, b = factorBits, factorBits
	const limit = model.Bound/2 - 1<<mostShift
	for int64(count)*(1<<a-1)*(1<<b-1) > limit {
		if a == b {
			a--
		} else {
			b--
		}
	}
	return a, b, a >= leastFactors
}

// attention returns the formats of scores and their factors. Those of the texts of a large
// model, beside whose tables one more is little, take one accumulator, and are on the finest
// scale that one look-up has. Of a small one texts are short more often than not, and the
// search finds what they need.
func (s *search) attention(a *defUse, n *graph.Node) attentionFormat {
	shape := s.fg.Shapes[n.Inputs[0]]
	count := shape[len(shape)-1]
	fa, fb, ok := factorsOf(count)
	if !s.large || s.opts.Length == 0 || Length(s.fg) == "" || !ok || !a.softened(n.Output) {
		return priorAttention
	}
	f := attentionFormat{scoreBits, fa, fb}
	room := scoreTable - 1 - model.Log2Ceil(count) // of a score's scale
	for i, bits := range []int{fa, fb} {
		r := s.ranges[n.Inputs[i]].abs() * s.opts.Headroom
		if r == 0 {
			return f
		}
		room -= bits - floorLog2((pow2(bits)-1)/r)
	}
	room = max(room, min(leastScore, room+model.MaxTableBits-scoreTable))
	r := s.ranges[n.Output].abs() * s.opts.Headroom
	if room < leastScore || r == 0 {
		return f
	}
	f.scores = min(max(floorLog2(r*pow2(room))+1, 4), scoreBits)
	return f
}

// scored reports whether a value are the scores of a text in a large model, which a Softmax
// takes.
func (l *lowering) scored(v *value) bool {
	c := l.consumer(v)
	return c != nil && hasMany(l.fg) && isSoftmax(c.Op) && c.Inputs[0] == v.name && l.open(c.Output, len(v.shape)-1)
}

// Masked scores of a text are lowered where the tables of exponentials do not grow by that: a
// gap below all others, so far that their exponentials, of at most mostLowered bits, are exactly 0. Then scores are a
// sum of what was rounded and of a multiple of the mask, and keys have no products with it, as
// if there were no mask. That takes an entry in each row that is not masked: otherwise a row's
// masked scores would have weights.
const (
	loweredBy   = 12 // beyond all scores' spread
	mostLowered = 16
)

// gap is how much scores have to be raised that are not masked.
func (l *builder) gap(m scores) int64 {
	t := l.g.Tensors[m.id]
	return t.Max - t.Min + int64(loweredBy)<<t.Frac
}

// leavesSome reports whether a constant mask leaves an entry in each row of a text of any
// length: it is 1 on the diagonal.
func (l *lowering) leavesSome(name string) bool {
	whole, part := l.whole(name)
	if part == nil || len(whole.Shape) < 2 || whole.Shape[len(whole.Shape)-1] != whole.Shape[len(whole.Shape)-2] {
		return false
	}
	least, most, ok := l.stats.diagonals(whole)
	return ok && least <= 0 && most >= 0
}

// lowers reports whether the masked ones of scores x are lowered for a Softmax: keys are no
// coarser then, or the model is large and x has a format, which tells what its scores need.
func (l *lowering) lowers(m scores, b Block, x *value) bool {
	t := l.g.Tensors[m.id]
	if t.Frac < 0 || t.Frac > finestKey || b.Bits == 0 || max(b.Bits, b.Summed) > mostLowered {
		return false
	}
	least := finestKeys(m, t.Max-t.Min, t.Frac)
	if l.formatted(x) > 0 && hasMany(l.fg) {
		least = 0
	}
	spread := t.Max - t.Min + l.gap(m)
	m.keys = l.keysOf(m)
	fine := finestKeys(m, spread, t.Frac)
	return fine >= least && t.Frac+fine >= leastKey && keyBits(m, spread, t.Frac, fine) <= m.keys
}

// keysOf is the size of the table of exponentials of scores that are not lowered, which is at
// most 2^16 unless there is no way.
func (l *builder) keysOf(m scores) int {
	t := l.g.Tensors[m.id]
	return min(keyBits(m, t.Max-t.Min, t.Frac, finestKeys(m, t.Max-t.Min, t.Frac)), 16)
}

// loweredScores raises all scores that a mask of 0 and 1 leaves.
func (l *builder) loweredScores(m scores, mask model.TensorID, labels []int) scores {
	t := l.g.Tensors[m.id]
	if t.Frac < 0 || t.Frac > finestKey {
		refuse("scores on a scale of %d bits are not lowered", t.Frac)
	}
	gap := l.gap(m)
	m.keys = l.keysOf(m)
	m.id = l.add(model.Tensor{ // whatever the mask's range is said to be
		Name: "scores, masked", Shape: m.shape, Kind: model.Virtual, Frac: t.Frac, Min: t.Min, Max: t.Max + gap,
		Def: []model.Linear{{Coef: 1, Src: m.id}, {Coef: gap, Src: mask, View: labelView(labels, m.shape)}},
	})
	return m
}
