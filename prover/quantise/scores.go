package quantise

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/model"
)

// The scores of attention over a text are as many as the square of its length, so that of
// long texts they are most of what is committed to. Their factors are as fine as one
// accumulator holds (factorsOf), and a score is rounded by one look-up, to a scale on which
// the table has all keys that the static bound allows.
const (
	// scoreTable is the size of that table, whatever the number of its uses: what is saved
	// by tables of exponentials of coarser scores makes up for its rows.
	scoreTable = 18
	// leastScore is the coarsest scale of scores for which that is done: the roundings
	// of a row's scores are independent, so that their effect is less than one's.
	leastScore = 6
	// leastFactors is the least size of factors in one accumulator; limbs do for fewer.
	leastFactors = 11
)

// attentionFormat are the bits of scores of attention and of the two factors.
type attentionFormat struct{ scores, a, b int }

// usualAttention suits scores of any number.
var usualAttention = attentionFormat{scoreBits, factorBits, factorBits}

// scores reports whether a node makes the scores of attention.
func (a *anatomy) scores(n *graph.Node) bool {
	if !a.attends(n) {
		return false
	}
	x := a.by[a.unmoved(n.Inputs[0])]
	return x == nil || !isSoftmax(x.Op)
}

// softened reports whether a value, maybe moved, is what a Softmax takes, and nothing else reads it.
func (a *anatomy) softened(name string) bool {
	list := a.readers[name]
	if len(list) != 1 {
		return false
	}
	if onlyMoves(list[0]) {
		return a.softened(list[0].Output)
	}
	return isSoftmax(list[0].Op) && list[0].Inputs[0] == name
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

// attention returns the formats of scores and their factors. The scores of a large model,
// beside whose tables one more is little, are on the finest scale that one look-up has.
func (s *search) attention(a *anatomy, n *graph.Node) attentionFormat {
	shape := s.fg.Shapes[n.Inputs[0]]
	count := shape[len(shape)-1]
	fa, fb, ok := factorsOf(count)
	if s.opts.Length == 0 || Length(s.fg) == "" || !ok || !a.softened(n.Output) {
		return usualAttention
	}
	f := attentionFormat{scoreBits, fa, fb}
	if !s.large {
		return f
	}
	room := scoreTable - 1 - model.Log2Ceil(count) // of a score's magnitude, on its scale
	for i, bits := range []int{fa, fb} {
		r := s.ranges[n.Inputs[i]].abs() * s.opts.Headroom
		if r == 0 {
			return f
		}
		room -= bits - floorLog2((pow2(bits)-1)/r)
	}
	r := s.ranges[n.Output].abs() * s.opts.Headroom
	if room < leastScore || r == 0 {
		return f
	}
	f.scores = min(max(floorLog2(r*pow2(room))+1, 4), scoreBits)
	return f
}

// scored reports whether a value are the scores of a text, which a Softmax takes.
func (l *lowering) scored(v *value) bool {
	c := l.consumer(v)
	return c != nil && isSoftmax(c.Op) && c.Inputs[0] == v.name && l.open(c.Output, len(v.shape)-1)
}
