package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerSoftmax, always[graph.Softmax](Traits{Softmax: true}))
	register(lowerLogSoftmax, always[graph.LogSoftmax](Traits{LogSoftmax: true}))
}

// lowerSoftmax lowers Softmax over the last axis, as exp(x − max − log Σ exp(x −
// max)): the row's maximum by look-ups, exponentials from a table, the logarithm of
// their sum from the sum's leading bits, and the result, the shares, from the table of exponentials again. So before it is
// rounded to its bits a share is precise in proportion to itself, however many there are in a row.
//
// A masked entry is left out of the maximum. The key of its share is one that no other entry has and for
// which the table has 0.
func lowerSoftmax(l *lowering, _ graph.Softmax, v *value, in []*value) {
	if v.shape[len(v.shape)-1] == 1 {
		v.acc = l.soleShare(v)
		return
	}
	// The shares have as many bits as a product of them with values of the shared bits has room for, 16 at most. summed is
	// the number of bits of the exponentials that are summed. If both numbers are the same, one table of exponentials does.
	bits := min(16, fixed.FloorLog2(float64(l.Plan.Limit()))-l.Plan.Bits-1)
	if l.opts.Formats[l.consumer(v).Output].Weights > 0 {
		bits = 16 // the product that reads the shares takes their bits in limbs
	}
	summed, width := 16, l.most(v.shape[len(v.shape)-1])
	switch {
	case v.output && width <= 64:
		bits, summed = 20, 20
	case v.output:
		bits, summed = 28, 20 // many small ones add up
	case l.opts.ActBits < 16:
		bits = min(bits, l.opts.ActBits-1)
	case width <= 64:
		summed = bits // the sum of few exponentials has few rounding errors: one table will do
	}
	c, fine := l.inFineShares(v, in)
	if fine {
		// In limbs. Exponentials of so many bits are multiplied by a number for the low limb, of about c bits: the
		// product has to fit the accumulator.
		bits = fixed.FineShareBits
		if width > 64 {
			bits++ // many small ones add up
		}
		bits = min(bits, 29-c)
		summed = bits
	}
	m := l.softmaxScores(v, in, fixed.Block{Kind: fixed.SoftmaxBlock, Summed: summed, Bits: bits}, fine)
	v.id = l.SharesOf(m, v.name, summed, bits)
}

// soleShare returns the share of the one entry of each row: 1, or the product of the computed masks. Constant masks leave an entry in
// each row (graph.Softmax), unless rows may be empty.
func (l *lowering) soleShare(v *value) *fixed.Int {
	share := (&fixed.Int{Shape: v.shape}).PlusConst(1)
	var id model.TensorID = model.None // the product so far
	var of []int                       // the axes of v that it has
	for _, name := range v.node.Inputs[1:] {
		if t := l.fg.Consts[name]; t != nil && !slices.Contains(t.I64, 0) {
			continue
		}
		mask, labels := l.maskOf(name, v.shape)
		if id != model.None {
			mask, labels = l.Exact("masks", l.Product(v.shape, id, of, mask, labels, 1)), model.Axes(len(v.shape))
		}
		id, of = mask, labels
		share = l.View(id, fixed.LabelView(of, v.shape), v.shape)
	}
	return share
}

// lowerLogSoftmax lowers the logarithm of a Softmax over the last axis: x − max − log Σ exp(x − max).
func lowerLogSoftmax(l *lowering, _ graph.LogSoftmax, v *value, in []*value) {
	if v.shape[len(v.shape)-1] == 1 {
		v.acc = &fixed.Int{Shape: v.shape}
		return
	}
	v.acc = l.Shares(l.softmaxScores(v, in, fixed.Block{Kind: fixed.SoftmaxBlock, Summed: 16}, false), 16).Log()
}

// softmaxScores returns the scores of the Softmax v, whose operands are scores and maybe masks, and begins the block b with them. It
// rounds scores that are too wide or too fine for a table of exponentials, unless they are fine ones, which are taken in limbs
// (inFineShares).
func (l *lowering) softmaxScores(v *value, in []*value, b fixed.Block, fine bool) fixed.Scores {
	x := in[0]
	if !fine && len(in) == 1 { // without a mask, only scores near the maximum need a fine scale
		x = l.nearScores(x, v)
	}
	bits := l.narrowBitsOf(x)
	if l.Circuit.Tensors[l.tensor(x)].Kind == model.Input {
		bits = max(bits, FirstBits) // an input has more bits for its Softmax (inputFormat)
	}
	if l.formatted(x) > 0 && l.scored(x) {
		bits = max(bits, l.Circuit.Tensors[l.tensor(x)].Frac+sharedScores) // roundFormat has clamped it there
	}
	last := len(v.shape) - 1
	width, id := l.most(v.shape[last]), l.tensor(x)
	if !fine {
		id = l.within(x, bits)
	}
	t := l.Circuit.Tensors[id]
	if !fine && t.Frac > fixed.FinestKey && (t.Frac > fixed.LogBits || t.Max-t.Min+fixed.MostLog(width, t.Frac) > 1<<15-4) {
		id = l.RoundTo(x.name, l.Of(id), fixed.FinestKey)
	}
	b.Of, b.Mask = id, model.None
	if l.length != nil {
		b.Kind, b.Entries = fixed.TextSoftmaxBlock, l.Entries(v.shape)
		if l.open(v.name, last) {
			b.Width = width
		}
	}
	m := l.Scores(&b) // without masks, for lowers
	for i, name := range v.node.Inputs[1:] {
		mask, labels := l.maskOf(name, v.shape)
		if i > 0 { // several masks are one, which is 1 where all of them are 1
			mask, labels = l.Exact("masks", l.Product(v.shape, b.Mask, b.Labels, mask, labels, 1)), model.Axes(len(v.shape))
		}
		b.Mask, b.Labels = mask, labels
	}
	if len(in) == 2 && m.Open && l.leavesSome(v.node.Inputs[1]) && l.lowers(m, b, x) {
		b.Kind = fixed.LoweredSoftmaxBlock
	}
	l.Begin(b)
	return l.Scores(&b)
}

// inFineShares reports whether the scores of a Softmax are taken in limbs, and the bits c of the low limb. They are if scores and
// result have formats of more than LimbedBits (finestOf), there is no mask, and the length is not free, as far as
// fixed.Builder.FineCut allows it.
func (l *lowering) inFineShares(v *value, in []*value) (c int, ok bool) {
	x := in[0]
	if len(in) > 1 || l.length != nil || !l.finestOf(v) || !l.finestOf(x) {
		return 0, false
	}
	return l.FineCut(fixed.Scores{ID: l.tensor(x), Mask: model.None})
}

const (
	// farScores is the reach of scores, head-room included, from which on a scale with NarrowBits
	// for all of them is too coarse for the few that count.
	farScores = 1 << 7
	// nearKey is the scale of such scores once their maximum is subtracted (nearScores).
	nearKey = 11
)

// nearScores returns the scores x of the Softmax v, which has no mask. If they are wide and reach farScores, as logarithms of
// small probabilities do, it returns instead the scores less their maximum, clamped at −fixed.FarBelow: on a finer
// scale than all of them could have.
func (l *lowering) nearScores(x, v *value) *value {
	wide := l.opts.Mode != modeW8A8 && l.formatted(x) > fixed.NarrowBits
	if l.length != nil || !wide || l.reachOf(x.rng) < farScores {
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

// The number of scores of attention grows with the square of a text's length, so that for
// long texts scores are most of what is committed to. In large models a search gives their factors as many bits as one
// accumulator has room for (package precision), and a score is rounded by one look-up, to a scale on which
// the table has all keys that the static bound allows.
const (
	// ScoreTable is the size of that table in bits, whatever the number of its uses: coarser scores have smaller
	// tables of exponentials, which makes up for its rows. The table is larger if on its scale
	// scores would be coarser than 2^−LeastScore. (The rounding errors of a row's scores are
	// independent, so that their effect on a share is less than that of one alone.)
	ScoreTable = 18
	LeastScore = 7
	// Scores are clamped at ±2^sharedScores or beyond, so that most layers share a table.
	// Masked scores can be lowered in that range.
	sharedScores = 4
)

// scored reports whether v is read only by a Softmax, as its scores, along an axis of free length and in a large model
// (HasMany).
func (l *lowering) scored(v *value) bool {
	c := l.consumer(v)
	return TraitsOf(c.Op).Softmax && c.Inputs[0] == v.name && l.open(c.Output, len(v.shape)-1) && HasMany(l.fg)
}

// mostLowered is the most bits that exponentials may have for the exponential of a lowered
// score to be rounded to 0.
const mostLowered = 16

// lowers reports whether the masked ones of the scores x are lowered (fixed.LoweredSoftmaxBlock): if the table of
// exponentials is no larger then and keys are no coarser. Keys may be coarser, down to 2^−LeastKey, if the model is large
// and x has a format, which tells what its scores need.
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

// openMask is a constant mask whose last two axes have a free length, as a constant by formula. The mask has to be a band: 1 on
// some adjacent diagonals and 0 elsewhere, as the masks of texts that look back are, and those of a window. whole is
// the mask at the bound of the length, and part its shape in this lowering. The labels are those of its axes among shape's.
func (l *lowering) openMask(name string, whole *graph.Tensor, part, shape []int) (model.TensorID, []int) {
	labels, kept := fixed.BroadcastLabels(part, shape)
	d := l.memory.diagonals(whole)
	refuse.If(len(kept) != 2 || d == nil, "its mask %s of a free length is no band of diagonals", graph.Quote(name))
	// Diagonal d has the entries (i, i + d).
	upTo := func(d int) model.TensorID {
		return l.Formula(name, kept, 0, &model.Formula{Kind: model.AtLeast, Offset: int64(-d)}, 0, 1)
	}
	n, m := whole.Shape[len(whole.Shape)-2], whole.Shape[len(whole.Shape)-1]
	switch {
	case d.Most == m-1:
		return l.Formula(name, kept, 0, &model.Formula{Kind: model.AtMost, Offset: int64(-d.Least)}, 0, 1), labels
	case d.Least == 1-n:
		return upTo(d.Most), labels
	}
	return l.VirtualOf(name, l.Of(upTo(d.Most)).Minus(l.Of(upTo(d.Least-1))).Within(0, 1)), labels
}

// diagonals returns the band of diagonals on which a mask is 1; nil if the mask is no band.
func (w *Memory) diagonals(t *graph.Tensor) *fixed.Band {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fixed.Remember(&w.bands, t, func() *fixed.Band {
		r := len(t.Shape)
		if n, m := t.Shape[r-2], t.Shape[r-1]; n*m == t.Len() {
			return fixed.BandOf(n, m, func(at int) bool { return t.I64[at] != 0 })
		}
		return nil
	})
}

// softenMask replaces the huge negative numbers with which models mask scores, and which would set the scale. v are
// the masked scores, values the numbers of the mask, and scores the range of the scores. If only a Softmax reads v, numbers far
// below all scores are replaced by one that leaves a masked score 10 below the least score or lower, so that it has at
// most e^−10 of that one's weight. softenMask also sets the range of v. Masked scores are clamped below it, which is not
// counted as saturation. Secret numbers are replaced if the numbers that are shown allow ones as small.
func (l *lowering) softenMask(v *value, values numbers, scores Range) numbers {
	const below = 10
	widest := scores.Abs()
	floor := float64(-2*widest) - below
	least := slices.Min(values.shown)
	if values.isSecret() {
		least = -values.most()
	}
	if !TraitsOf(l.consumer(v).Op).Softmax || least >= 4*floor {
		return values
	}
	most := math.Max(-4*floor, v.rng.Max+widest) // the largest magnitude that is left
	soft := slices.Clone(values.held())
	for i, x := range soft {
		if x < 4*floor {
			soft[i] = floor
		}
	}
	v.unreported = true
	widest = math.Max(widest, (widest+below)/l.opts.Headroom)
	v.rng = Range{Min: -widest, Max: widest}
	return numbersAre(soft, values.isSecret(), most)
}

// leavesSome reports whether a constant mask leaves an entry in each row of a text of any
// length, since it is a square band with the main diagonal.
func (l *lowering) leavesSome(name string) bool {
	whole, part := l.whole(name)
	if part == nil || len(whole.Shape) < 2 || whole.Shape[len(whole.Shape)-1] != whole.Shape[len(whole.Shape)-2] {
		return false
	}
	d := l.memory.diagonals(whole)
	return d != nil && d.Least <= 0 && d.Most >= 0
}

// maskOf returns the tensor of a mask of zeros and ones, constant or computed, for scores of a shape, and the axes of the
// scores that its axes are (labels).
func (l *lowering) maskOf(name string, shape []int) (model.TensorID, []int) {
	if c, part := l.whole(name); part != nil {
		return l.openMask(name, c, part, shape)
	} else if c != nil {
		labels, kept := fixed.BroadcastLabels(c.Shape, shape)
		return l.Mask(name, kept, labels, func(i int) bool { return c.I64[i] != 0 })
	}
	id := l.tensor(l.values[name])
	if t := &l.Circuit.Tensors[id]; t.Frac != 0 || t.Min < 0 || t.Max > 1 {
		refuse.With("its mask %s may be other than 0 and 1", graph.Quote(name))
	}
	return l.Squeezed(id, shape)
}
