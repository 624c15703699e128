package lower

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// scaledBy are the statistics of the channels with weights times 2^frac.
func (l *lowering) scaledBy(c *weights.Channels, frac int) weights.Scaled {
	return c.ScaledBy(frac, l.opts.WeightBits)
}

// weighting describes a product of a computed value with constant weights, but for the value.
type weighting struct {
	name   string // the constant's name
	t      *weights.Constant
	shape  []int // of the fixed tensor, which has the constant's entries in row-major order
	part   []int // if not nil: only the leading block of this shape is multiplied with (lowering.begun)
	labels []int // of the fixed tensor's axes, as in model.Product
	// The output channel of weight i is i/inner mod channels; an output entry
	// sums over count weights of one channel.
	channels, inner, count int
	rows                   bool  // whether these weights meet a row of the value, along its last axis
	out                    []int // shape of the product
	// operand turns the value's tensor into the other factor, and returns the labels of its axes.
	operand func(id model.TensorID) (model.TensorID, []int)
	bias    bias
}

// bias are constants of a shape that are added to a product; view broadcasts them to the product's shape. Without
// numbers there is no bias.
type bias struct {
	name string
	numbers
	shape []int
	view  *model.View
}

// plusBias is e plus a bias, if there is one.
func (l *lowering) plusBias(e *fixed.Int, b bias) *fixed.Int {
	if len(b.shown) == 0 {
		return e
	}
	return e.Plus(l.View(l.constantOf(b.name, b.shape, b.numbers, e.Frac), b.view, e.Shape))
}

// Bits of weights that products aim at. If the weights of a product would have fewer than minWeightBits, the value
// that they multiply is rounded to fewer bits (giveWay). If they would have fewer than goodWeightBits, all
// activations of the model have fewer bits (maxBits).
const (
	minWeightBits  = 8
	goodWeightBits = 10
	// usualWeightBits is the number of bits of weights for values with a format, if there
	// is room.
	usualWeightBits = 12
	// A value of less than 2^mostLimbed is not rounded to LimbedBits before its limbs are multiplied (crowds).
	mostLimbed = LimbedBits + 2
)

// meeting is the state of lowering one product v = x·weights + bias.
type meeting struct {
	*lowering
	weighting
	v, x  *value
	stats *weights.Channels
	id    model.TensorID // the tensor of x that the weights multiply
	extra float64        // room for this real magnitude is left: of the bias, and maybe of what the consumer adds
	frac  int            // the scale of the weights
	bits  int            // bits of the largest weight on that scale, sign excluded
}

// weighted lowers v = x·weights + bias as an accumulator with the finest
// weights that the static bound allows.
func (l *lowering) weighted(v, x *value, w weighting) {
	stats, bias := l.statsOf(w), w.bias.most()
	m := &meeting{lowering: l, weighting: w, v: v, x: x, stats: stats, id: l.tensor(x), extra: bias + l.upcoming(v)}
	if sum := stats.Sum * float64(l.Magnitude(m.id)) * fixed.Pow2(-l.Circuit.Tensors[m.id].Frac); sum < bias*fixed.Pow2(-24) {
		// The products are less than 2^−24 of the bias: in float32 the sum is the bias, too.
		v.acc = l.plusBias(&fixed.Int{Shape: w.out, Frac: fixed.FloorLog2(fixed.Pow2(24) / bias)}, w.bias)
		return
	}
	// Room for what the consumer adds is given up if the weights get too few bits. The bias needs its room.
	if m.scaleWeights(); m.bits < minWeightBits && m.extra > bias {
		m.extra = bias
		m.scaleWeights()
	}
	if stats.Most > 0 && m.wantsLimbs() {
		x := m.limbs()
		if x.crowds() {
			m.narrow(LimbedBits)
			x = m.limbs()
		}
		if x.weighted() {
			return
		}
	}
	if l.opts.Mode != modeW8A8 && l.formatted(x) == 0 {
		// total is the bits that the bound leaves activations and weights together. If the weights take goodWeightBits,
		// share is left for activations. If that is less than WantedBits, each gets half, since the
		// rounding errors of both weigh the same.
		total := model.Log2Ceil(int(l.Magnitude(m.id))) + m.bits
		share := total - goodWeightBits
		if share < fixed.WantedBits {
			share = max((total+2)/2, fixed.LeastBits)
		}
		l.maxBits = min(l.maxBits, share)
	}
	if stats.Most > 0 {
		m.giveWay()
	}
	v.acc = m.accumulator()
}

// narrow rounds the value to so many bits before the weights multiply it.
func (m *meeting) narrow(bits int) {
	m.id = m.narrowed(m.x, bits)
	m.scaleWeights()
}

// giveWay rounds the value to fewer bits if the weights have fewer than minWeightBits. In an adapter it then puts the
// weights on a scale of the base's. It refuses weights of fewer than 2 bits.
func (m *meeting) giveWay() {
	coarser := func() {
		m.id = m.coarser(m.x, m.id, minWeightBits-m.bits)
		m.scaleWeights()
	}
	if m.bits < minWeightBits {
		if xbits := model.Log2Ceil(int(m.Magnitude(m.id))); m.x.rng.Abs() == 0 {
			coarser() // calibration tells nothing about its scale
		} else if m.bits >= 0 && xbits > m.bits+1 {
			m.narrow(max(1, xbits-(xbits-m.bits)/2))
		}
		// If weights still have almost no bits, the bias takes the room: products that are tiny beside it may become zero.
		for n := 0; m.bits < 2 && n < 8; n++ {
			coarser()
		}
	}
	if m.opts.Base != nil {
		m.basedOn()
		m.bits = fixed.FloorLog2(m.stats.Most*fixed.Pow2(m.frac)) + 1
	}
	refuse.If(m.bits < 2, "a sum of %d products does not fit in 30 bits with at least 2 bits a weight", m.count)
}

// accumulator is the product plus the bias, with the scales that have been chosen.
func (m *meeting) accumulator() *fixed.Int {
	bounds, scale := m.bounds(), fixed.Pow2(m.Circuit.Tensors[m.id].Frac+m.frac)
	// In channels with large weights the low bits are zero, so that weights have at most WeightBits.
	scaled := m.scaledBy(m.stats, m.frac)
	reach := scaled.Reach(bounds)
	// ReachOfAll, the bound that a certificate states, is taken if there is room for it.
	if all := scaled.ReachOfAll(bounds); bounds.Norm == 0 && all.Most()+float64(m.extra*scale)+1 <= float64(m.limitOf(m.v)) {
		reach = all
	}
	if size, _, _ := scaled.Rounded(); reach.Most() >= model.Bound || size >= model.Bound {
		refuse.With("the accumulator does not fit in 30 bits")
	}
	return m.plusBias(m.product(m.lowering, m.id, m.fixed(m.lowering, m.frac), reach), m.bias)
}

// product is Σ x·w, of a tensor id and a fixed tensor wid of the weights. reach bounds the sums.
func (w *weighting) product(l *lowering, id, wid model.TensorID, reach weights.Reach) *fixed.Int {
	other, labels := w.operand(id)
	return l.Product(w.out, other, labels, wid, w.labels, 1).Within(-int64(math.Ceil(reach.Down)), int64(math.Ceil(reach.Up)))
}

// restBits is how many bits the second part of weights may have (restOf), at most the given number, so that an accumulator has
// room for its product with operands whose magnitudes add up to sum at most.
func restBits(bits int, sum float64) int {
	for bits > 0 && sum*fixed.Pow2(bits-1) >= model.Bound/2 {
		bits--
	}
	return bits
}

// bounds returns what is known of the entries of m.id. Bounds of less than 1 count as 1, or as 0 for Lo if no entry is negative.
func (m *meeting) bounds() weights.OperandBounds {
	t := m.Circuit.Tensors[m.id]
	b := weights.OperandBounds{Lo: math.Min(float64(t.Min), -1), Hi: math.Max(float64(t.Max), 1), Count: m.count}
	if t.Min >= 0 {
		b.Lo = 0
	}
	if m.weighting.rows {
		b.Norm = m.RowNorms[m.id]
	}
	return b
}

// scaleWeights chooses the scale of the weights (frac): the finest for which every channel's
// accumulator, with room for m.extra, can be rounded. It is no finer than
// one look-up that rounds v makes use of, if that leaves the weights enough bits.
func (m *meeting) scaleWeights() {
	t, most := &m.Circuit.Tensors[m.id], m.stats.Most
	if m.frac, m.bits = 0, 0; most == 0 {
		return
	}
	finest := 29 - fixed.FloorLog2(most)
	m.frac = finest - sort.Search(32, func(coarser int) bool { return m.hasRoom(m.extra, finest-coarser) }) // 32 bits coarser they are all 0
	m.bits = fixed.FloorLog2(most*fixed.Pow2(m.frac)) + 1
	if rounded, ok := m.roundedFrac(m.v); ok {
		// One look-up of the remainder should do, which has at most so many bits: those of the shared shift, or MostShift.
		least, shift := minWeightBits+1, m.Plan.Shift()
		if m.roundedItself(m.v) {
			least, shift = usualWeightBits, fixed.MostShift
		}
		if spare := m.frac - (rounded + shift - t.Frac); spare > 0 {
			spare = max(0, min(spare, m.bits-least))
			m.frac, m.bits = m.frac-spare, m.bits-spare
		}
	}
}

// hasRoom reports whether v can be rounded from every channel's accumulator, of weights times 2^frac, with room for a
// number of real magnitude extra.
func (m *meeting) hasRoom(extra float64, frac int) bool {
	most := float64(extra * fixed.Pow2(m.Circuit.Tensors[m.id].Frac+frac))
	return m.scaledBy(m.stats, frac).Reach(m.bounds()).Most()+most+1 <= float64(m.limitOf(m.v))
}

// roundedFrac is the scale that an accumulator of v will be rounded to: that of the stream that v is added to, or the
// one that v's calibrated range and bits give. It returns false if no such scale is known, as for an output.
func (l *lowering) roundedFrac(v *value) (frac int, ok bool) {
	if l.streamOf(v) {
		return l.stream[l.consumer(v).Output], true
	}
	r := l.finest(v) * l.opts.Headroom
	if r == 0 || v.output && v.uses == 1 {
		return 0, false
	}
	into := v.name // the value that is rounded: v, or the sum that v is a term of
	if c := l.consumer(v); TraitsOf(c.Op).Sums {
		into = c.Output
	}
	return scaleOf(min(l.bitsOf(v), l.roomOf(into)), r), true
}

// roundedItself reports whether v is rounded to a format of its own and not as a term of a sum, or to the scale of
// its stream.
func (l *lowering) roundedItself(v *value) bool {
	return l.streamOf(v) || l.formatted(v) > 0 && !TraitsOf(l.consumer(v).Op).Sums
}

// streamOf reports whether the value is rounded to the scale of a stream: its consumer is a sum of the stream, of two
// computed values.
func (l *lowering) streamOf(v *value) bool {
	c := l.consumer(v)
	_, ok := l.stream[c.Output]
	return ok && l.fg.Consts[c.Inputs[0]] == nil && l.fg.Consts[c.Inputs[1]] == nil
}

// finest is the magnitude that sets the scale on which the value will be
// rounded: that of its calibrated range, or that of the result of a clamp (piecewiseRange) that is fused with the
// rounding.
func (l *lowering) finest(v *value) float64 {
	c := l.consumer(v)
	if b := boundsOf(c.Op); b != nil && b.Kind == fixed.Keep {
		return l.piecewiseRange(l.ranges[c.Output], v.rng, *b)
	}
	return v.rng.Abs()
}

// upcoming is the real magnitude of the number or value that v's only consumer adds to v; 0 if it adds none. If the accumulator
// has room for that, v need not be rounded before the sum. If v is added to a stream it is rounded
// before, so that the stream needs no room.
func (l *lowering) upcoming(v *value) float64 {
	c := l.consumer(v)
	if !TraitsOf(c.Op).Sums || l.streamOf(v) {
		return 0
	}
	for _, in := range c.Inputs {
		if t := l.fg.Consts[in]; t != nil {
			m := l.numbersOf(t).most()
			if m > 1e3*v.rng.Abs() {
				return 0 // a mask of scores
			}
			return m
		}
		if in != v.name {
			return l.reachOf(l.ranges[in]) * 2
		}
	}
	return 0
}

// roundedConstant identifies a fixed tensor that has all entries of a constant, rounded to one scale.
type roundedConstant struct {
	t    *graph.Tensor
	frac int
}

// rounded adds the fixed tensor of a constant times 2^frac, rounded to integers. Its range is ±reach, and most is the largest
// magnitude of the integers. Uses of one constant on one scale and in one shape share the tensor, such as
// embeddings that are the weights of the output layer as well.
func (l *lowering) rounded(name string, w *weights.Constant, shape []int, frac int, reach, most int64) model.TensorID {
	key := roundedConstant{w.Tensor, frac}
	if id, ok := l.roundeds[key]; ok && slices.Equal(l.Circuit.Tensors[id].Shape, shape) {
		return id
	}
	l.opts.Base.has(name, "", w.Tensor, shape, frac)
	id := l.Fixed(name, shape, frac, -reach, reach, weights.Quantised(w, frac, func() []int { return []int{0} }, w.Len()))
	l.weights[id] = w
	l.Key(fmt.Sprint(name, " by ", w.By, shape, frac, " rounded"), most)
	l.roundeds[key] = id
	return id
}

// statsOf are the statistics of the channels of weights. If only a part of the constant is multiplied with (part), that is
// entry by entry, and they are the statistics of one channel that bounds all entries.
func (l *lowering) statsOf(w weighting) *weights.Channels {
	if w.part == nil {
		return l.memory.weights.Of(w.name, w.t, w.channels, w.inner)
	}
	return l.memory.weights.OfAll(w.name, w.t)
}

// fixed adds the fixed tensor of the weights times 2^frac, in which the entries of channel c are rounded to multiples of
// 2^Exponents()[c] (weights.Scaled).
func (w *weighting) fixed(l *lowering, frac int) model.TensorID {
	scaled := l.scaledBy(l.statsOf(*w), frac)
	size, most, whole := scaled.Rounded()
	reach := int64(size)
	if w.t.Factors == nil && w.part == nil && whole {
		return l.rounded(w.name, w.t, w.shape, frac, reach, most)
	}
	l.opts.Base.has(w.name, "", w.t.Tensor, w.shape, frac)
	id := l.Fixed(w.name, w.shape, frac, -reach, reach, weights.Quantised(w.t, frac, scaled.Exponents, w.inner))
	l.weights[id] = w.t
	// The exponents follow from the weights, the scale and the options.
	l.Key(fmt.Sprint(w.name, " by ", w.t.By, w.shape, w.inner, frac, " in ", scaled.Count(), " of ", l.opts.WeightBits), most)
	if w.part != nil {
		return l.begun(id, w.part)
	}
	return id
}
