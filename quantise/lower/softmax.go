package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerSoftmax, always[graph.Softmax](Traits{Softmax: true}))
	register(lowerLogSoftmax, always[graph.LogSoftmax](Traits{Softmax: true}))
}

// lowerSoftmax lowers Softmax over the last axis, as exp(x − max − log Σ exp(x −
// max)): the row's maximum by look-ups, exponentials from a table, the logarithm of
// their sum from the sum's leading bits, and the result from the table again. So a
// result is right in proportion to itself, however many there are in a row.
//
// A masked entry is not in the maximum, and its key is one that no other entry has,
// where the table is 0.
func lowerSoftmax(l *lowering, n *graph.Node, _ graph.Softmax, v *value) {
	if v.shape[len(v.shape)-1] == 1 {
		v.acc = &fixed.Int{Shape: v.shape, Min: 1, Max: 1, Acc: model.Acc{Const: 1}}
		return
	}
	// As fine as products with other values have room for, or as there is. One table
	// is enough where that is what the sum has room for, too.
	bits := min(16, fixed.FloorLog2(float64(l.Plan.Limit()))-l.Plan.Bits-1)
	if c := l.consumer(v); c != nil && l.opts.Formats[c.Output].Weights > 0 {
		bits = 16 // the product keeps them
	}
	summed := 16
	switch width := l.most(v.shape[len(v.shape)-1]); {
	case v.output && width <= 64:
		bits, summed = 20, 20
	case v.output:
		bits, summed = 28, 20 // many small ones add up
	case l.opts.ActBits < 16:
		bits = min(bits, l.opts.ActBits-1)
	case width <= 64:
		summed = bits // few roundings: one table will do
	}
	c, fine := l.inFineShares(n, v)
	if fine {
		// The logarithm takes one bit more of an even number of them.
		bits = fixed.FineShareBits
		if l.most(v.shape[len(v.shape)-1]) > 64 {
			bits++ // many small ones add up
		}
		bits = min(bits, 29-c)
		summed = bits
	}
	m := l.softmaxScores(n, v, fixed.Block{Kind: fixed.SoftmaxBlock, Summed: summed, Bits: bits}, fine)
	v.id = l.SharesOf(m, v.name, summed, bits)
}

// lowerLogSoftmax lowers the logarithm of a Softmax over the last axis.
func lowerLogSoftmax(l *lowering, n *graph.Node, _ graph.LogSoftmax, v *value) {
	if v.shape[len(v.shape)-1] == 1 {
		v.acc = &fixed.Int{Shape: v.shape}
		return
	}
	v.acc = l.Shares(l.softmaxScores(n, v, fixed.Block{Kind: fixed.SoftmaxBlock, Summed: 16}, false), 16).Log()
}

// softmaxScores returns the scores of a node whose operands are x and maybe masks. They
// are where the block begins. Fine scores are taken in limbs (inFineShares).
func (l *lowering) softmaxScores(n *graph.Node, v *value, b fixed.Block, fine bool) fixed.Scores {
	x := l.values[n.Inputs[0]]
	if !fine { // they may be however far apart else
		x = l.nearScores(n, x, v)
	}
	bits := l.narrowBitsOf(x)
	if l.Circuit.Tensors[l.tensor(x)].Kind == model.Input {
		bits = max(bits, FirstBits) // that is what it has more than others for
	}
	if l.formatted(x) > 0 && l.scored(x) {
		bits = max(bits, l.Circuit.Tensors[l.tensor(x)].Frac+sharedScores) // as it has been clamped
	}
	last := len(v.shape) - 1
	width, id := l.most(v.shape[last]), l.tensor(x)
	if !fine {
		id = l.within(x, bits)
	}
	t := l.Circuit.Tensors[id]
	if !fine && t.Frac > fixed.FinestKey && (t.Frac > fixed.LogBits || t.Max-t.Min+fixed.MostLog(width, t.Frac) > 1<<15-4) {
		id = l.RoundTo(x.name, l.View(id, nil, v.shape), fixed.FinestKey)
	}
	b.Of, b.Mask = id, model.None
	if l.length != nil {
		b.Kind, b.Entries = fixed.TextSoftmaxBlock, l.Entries(v.shape)
		if l.open(v.name, last) {
			b.Width = width
		}
	}
	m := l.Scores(&b) // without masks
	for i, name := range n.Inputs[1:] {
		mask, labels := l.maskOf(name, v.shape)
		if i > 0 { // where all of them are 1
			mask, labels = l.Exact("masks", l.Product(v.shape, b.Mask, b.Labels, mask, labels, 1)), model.Axes(len(v.shape))
		}
		b.Mask, b.Labels = mask, labels
	}
	if len(n.Inputs) == 2 && m.Open && l.leavesSome(n.Inputs[1]) && l.lowers(m, b, x) {
		b.Kind = fixed.LoweredSoftmaxBlock
	}
	l.Begin(b)
	return l.Scores(&b)
}

// inFineShares reports whether a Softmax is taken so, and the size of the low limb: where
// scores and result have the finest of formats, and there is no mask.
func (l *lowering) inFineShares(n *graph.Node, v *value) (c int, ok bool) {
	x := l.values[n.Inputs[0]]
	if len(n.Inputs) > 1 || l.length != nil || !l.finestOf(v) || !l.finestOf(x) {
		return 0, false
	}
	return l.FineCut(fixed.Scores{ID: l.tensor(x), Mask: model.None})
}

const (
	// farScores is what the scores of a Softmax reach, head-room included, where NarrowBits
	// of them are too coarse for the few that count.
	farScores = 1 << 7
	// nearKey is the scale of scores near the maximum.
	nearKey = 11
)

// nearScores returns the scores of a Softmax, or, where they are wide and reach far beyond
// those that count, as the logarithms of small probabilities do, the scores less their
// maximum, clamped at −FarBelow: on a finer scale than all of them would have.
func (l *lowering) nearScores(n *graph.Node, x, v *value) *value {
	wide := l.opts.Mode != modeW8A8 && l.formatted(x) > fixed.NarrowBits
	if len(n.Inputs) > 1 || l.length != nil || !wide || l.reachOf(x.rng) < farScores {
		return x
	}
	id := l.tensor(x)
	t := l.Circuit.Tensors[id]
	top := l.Greatest("maximum", id, true)
	below := l.Of(id).Minus(l.broadcastOf(top, v.shape))
	clamp := fixed.Piecewise{Kind: fixed.Keep, Lo: -fixed.FarBelow}
	near := l.RoundOn("near the maximum", below, min(t.Frac, nearKey), fixed.NarrowBits, clamp)
	return heldIn(near, value{name: x.name, node: x.node, shape: v.shape, rng: Range{Min: -fixed.FarBelow}, uses: 1})
}

// The scores of attention over a text are as many as the square of its length, so that of
// long texts they are most of what is committed to. Their factors are as fine as one
// accumulator holds (factorsOf), and a score is rounded by one look-up, to a scale on which
// the table has all keys that the static bound allows.
const (
	// ScoreTable is the size of that table, whatever the number of its uses: what is saved
	// by tables of exponentials of coarser scores makes up for its rows. It is larger where
	// scores would be coarser than 2^-LeastScore. (The roundings of a row's scores are
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
	return c != nil && IsSoftmax(c.Op) && c.Inputs[0] == v.name && l.open(c.Output, len(v.shape)-1) && HasMany(l.fg)
}

// mostLowered is the most bits that exponentials may have so that the exponential of a lowered
// score is 0.
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
