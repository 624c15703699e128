package quantise

import (
	"fmt"
	"math"
	"math/big"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

func init() {
	register(lowerSoftmax, always[graph.Softmax](traits{softmax: true}))
	register(lowerLogSoftmax, always[graph.LogSoftmax](traits{softmax: true}))
}

// Keys of a Softmax need not be finer than 2^-finestKey, which is an error of as much in
// proportion.
const finestKey = 12

// Keys that are coarser than 2^-leastKey are those of scores near the maximum alone.
const leastKey = 9

// lowerSoftmax lowers Softmax over the last axis, as exp(x − max − log Σ exp(x −
// max)): the row's maximum by look-ups, exponentials from a table, the logarithm of
// their sum from the sum's leading bits, and the result from the table again. So a
// result is right in proportion to itself, however many there are in a row.
//
// A masked entry is not in the maximum, and its key is one that no other entry has,
// where the table is 0.
func lowerSoftmax(l *lowering, n *graph.Node, _ graph.Softmax, v *value) {
	if v.shape[len(v.shape)-1] == 1 {
		v.pending = &expr{shape: v.shape, min: 1, max: 1, acc: model.Acc{Const: 1}}
		return
	}
	// As fine as products with other values have room for, or as there is. One table
	// is enough where that is what the sum has room for, too.
	bits := min(16, floorLog2(float64(l.plan.limit()))-l.plan.bits-1)
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
	if c, ok := l.inFineShares(n, v); ok {
		// The logarithm takes one bit more of an even number of them.
		bits = fineShareBits
		if l.most(v.shape[len(v.shape)-1]) > 64 {
			bits++ // many small ones add up
		}
		bits = min(bits, 29-c)
		summed = bits
	}
	m := l.softmaxScores(n, v, Block{Kind: softmaxBlock, Summed: summed, Bits: bits})
	id := l.sharesOf(m, v.name, summed, bits)
	v.id, v.shaped = id, id
}

// sharesOf makes the shares themselves, 1 being 2^bits; what is summed is 2^summed.
func (l *builder) sharesOf(m scores, name string, summed, bits int) model.TensorID {
	if c, ok := l.fineCut(m); ok {
		return l.fineShares(m, c, name, summed, bits)
	}
	return l.probabilities(l.shares(m, summed), name, summed, bits)
}

// probabilities adds the look-up of the shares themselves, 1 being 2^bits; what was summed is
// 2^summed.
func (l *builder) probabilities(s shares, name string, summed, bits int) model.TensorID {
	one := int64(1) << bits
	shape := s.key.shape
	id := l.witness(name, shape, bits, 0, one)
	l.lookup(s.key, s.key.frac, s.table(bits), id)
	width := s.scores.width
	// The logarithm is right to what logOfDigits is, and to a unit of keys or, where it
	// rounds to nothing, less. What was summed is less than the exponentials by half a unit
	// each at most, and 1 or more; shares are more by half a unit each.
	more := float64(width - 1) // beside one, in units of that
	if s.key.frac >= 0 {
		more = elementary.Expm1(logError + pow2(-s.key.frac))
	}
	each := float64(float64(width) * pow2(-summed-1))
	more += float64(each * (1 + more))
	l.rowSums[id] = one + int64(math.Ceil(pow2(bits)*more)) + int64(width+1)/2
	return id
}

// lowerLogSoftmax lowers the logarithm of a Softmax over the last axis.
func lowerLogSoftmax(l *lowering, n *graph.Node, _ graph.LogSoftmax, v *value) {
	if v.shape[len(v.shape)-1] == 1 {
		v.pending = &expr{shape: v.shape}
		return
	}
	s := l.shares(l.softmaxScores(n, v, Block{Kind: softmaxBlock, Summed: 16}), 16)
	v.pending = s.scores.less(l.builder, s.under("maximum and logarithm", s.top), s.fine, s.key.frac, s.least)
}

// shares are what a Softmax and its logarithm have in common.
type shares struct {
	// key is x − max − log Σ exp(x − max), or the table's first key where x is
	// masked.
	key *expr
	// table gives the exponentials of keys, 1 being 2^bits.
	table func(bits int) model.TableID

	// The key is 2^fine times scores less what is under them, of which the maximum is
	// a part. It is at least least.
	scores scores
	top    model.TensorID
	fine   int
	least  int64
	under  func(name string, top model.TensorID) model.TensorID
}

// mostLog is the largest logarithm of a sum of so many shares of at most 1, on a
// scale.
func mostLog(width, frac int) int64 {
	return max(8, int64(math.Ceil((elementary.Log(float64(width))+0.01)*pow2(frac)))+2)
}

// softmaxScores returns the scores of a node whose operands are x and maybe masks. They
// are where the block begins.
func (l *lowering) softmaxScores(n *graph.Node, v *value, b Block) scores {
	x, fine := l.values[n.Inputs[0]], false
	if b.Bits > 0 {
		_, fine = l.inFineShares(n, v)
	}
	if !fine { // which has the scores in limbs, however far apart they are
		x = l.nearScores(n, x, v)
	}
	bits := l.narrowBitsOf(x)
	if l.g.Tensors[l.tensor(x)].Kind == model.Input {
		bits = max(bits, bitSteps[0]) // that is what it has more than others for
	}
	if l.formatted(x) > 0 && l.scored(x) {
		bits = max(bits, l.g.Tensors[l.tensor(x)].Frac+sharedScores) // as it has been clamped
	}
	last := len(v.shape) - 1
	m := scores{shape: v.shape, mask: model.None, width: l.most(v.shape[last]), open: l.open(v.name, last)}
	m.entries = l.entries(v.shape)
	id := l.tensor(x)
	if !fine {
		id = l.within(x, bits)
	}
	t := l.g.Tensors[id]
	if !fine && t.Frac > finestKey && (t.Frac > logBits || t.Max-t.Min+mostLog(m.width, t.Frac) > 1<<15-4) {
		id = l.roundTo(x.name, l.tensorExpr(id, nil, v.shape), finestKey)
	}
	b.Of, b.Mask, m.id = id, model.None, id
	if l.length != nil {
		b.Kind, b.Entries = textSoftmaxBlock, m.entries
		if m.open {
			b.Width = m.width
		}
	}
	if len(n.Inputs) < 2 {
		l.begin(b)
		return m
	}
	b.Mask, b.Labels = l.maskOf(n.Inputs[1], v.shape)
	if len(n.Inputs) == 2 && m.open && l.leavesSome(n.Inputs[1]) && l.lowers(m, b, x) {
		b.Kind = loweredSoftmaxBlock
		l.begin(b)
		return l.loweredScores(m, b.Mask, b.Labels)
	}
	for _, name := range n.Inputs[2:] { // where all of them are 1
		other, its := l.maskOf(name, v.shape)
		b.Mask, b.Labels = l.exact("masks", l.product(v.shape, b.Mask, b.Labels, other, its, 1)), allLabels(v.shape)
	}
	l.begin(b)
	return l.maskedScores(m, b.Mask, b.Labels)
}

// shares makes the keys. What is summed has that many bits.
func (l *builder) shares(m scores, bits int) shares {
	t := l.g.Tensors[m.id]
	logMax := func(frac int) int64 { return mostLog(m.width, frac) }
	top := l.rowMax(m)
	spread := t.Max - t.Min

	rows := func(fine int) int { return keyBits(m, spread, t.Frac, fine) }
	fine := finestKeys(m, spread, t.Frac)
	all, allTop, allSpread := m, top, spread
	if t.Frac+fine < leastKey {
		// Most of the table is for shares that are nothing.
		m, top, spread = l.nearMaximum(m, top, spread, -t.Frac)
		fine = finestKeys(m, spread, t.Frac)
	}
	keyFrac := t.Frac + fine
	if rows(fine) > model.MaxTableBits {
		refuse("scores from %d to %d are too many to have a table of exponentials", t.Min, t.Max)
	}
	first := -int64(1) << rows(fine)
	table := func(bits int) model.TableID { return l.expTable(keyFrac, first, bits) }

	exp := l.witness("exponential", m.shape, bits, 0, 1<<bits)
	l.lookup(m.less(l, l.scaled("maximum", top, 1<<fine), fine, keyFrac, first+1), keyFrac, table(bits), exp)

	log := l.logOfSum(exp, m.width, keyFrac, logMax(keyFrac))
	under := func(name string, top model.TensorID) model.TensorID {
		t := l.g.Tensors[top]
		return l.add(model.Tensor{
			Name: name, Shape: t.Shape, Kind: model.Virtual, Frac: keyFrac, Min: t.Min << fine, Max: t.Max<<fine + logMax(keyFrac),
			Def: append([]model.Linear{{Coef: 1 << fine, Src: top}}, log...),
		})
	}
	key := m.less(l, under("maximum and logarithm", top), fine, keyFrac, first+1)
	return shares{key, table, all, allTop, fine, -allSpread<<fine - logMax(keyFrac), under}
}

// keyBits is the size of the table of exponentials of scores on a scale, with that spread,
// whose keys are so many bits finer.
func keyBits(m scores, spread int64, frac, fine int) int {
	return model.Log2Ceil(int(spread<<fine + mostLog(m.width, frac+fine) + 2))
}

// finestKeys is how many bits finer than scores their keys are: as far as a table of moderate
// size goes, since what is left of the logarithm's rounding is an error of all shares of a row.
func finestKeys(m scores, spread int64, frac int) (fine int) {
	small, most := 14, 16
	if m.entries >= 1<<small {
		small = 16
	}
	if m.keys > 0 {
		most = m.keys
	}
	rows := func(fine int) int { return keyBits(m, spread, frac, fine) }
	for rows(fine+1) <= most && (frac+fine < 10 || rows(fine+1) <= small && frac+fine < finestKey) {
		fine++
	}
	return fine
}

// farBelow is how far below the maximum a score's exponential is nothing.
const farBelow = 24

// nearMaximum is the scores less their maximum, on the same scale of 2^unit: clamped
// at −farBelow and with that added, so that they begin at 1, and 0 where they are
// masked. It returns the new maximum and spread as well.
func (l *builder) nearMaximum(m scores, top model.TensorID, spread int64, unit int) (scores, model.TensorID, int64) {
	least := -int64(math.Ceil(farBelow * pow2(-unit)))
	bits := model.Log2Ceil(int(spread) + 2)
	first := -int64(1) << bits
	name := fmt.Sprintf("near the maximum, from %d, %d", least, bits)
	rows := int64(1) << bits
	t := model.Table{Name: name, Kind: model.TablePiecewise, Bits: bits, Min: first + 1, Values: model.None, Pieces: []model.Piece{
		{End: 1}, {End: max(2, rows+least), Offset: 1}, {End: rows, Slope: 1, Offset: 1 - least},
	}}
	id := l.witness("near the maximum", m.shape, -unit, 0, 1-least)
	l.lookup(m.less(l, top, 0, -unit, first+1), -unit, l.addTable(name, t), id)
	shape := l.g.Tensors[top].Shape
	top = l.virtual("maximum", shape, []model.Linear{{Coef: 1, Src: l.scalar("maximum", 1-least), View: labelView(nil, shape)}}, -unit)
	m.id = id
	return m, top, 1 - least
}

// scaled is c times a tensor.
func (l *builder) scaled(name string, id model.TensorID, c int64) model.TensorID {
	if c == 1 {
		return id
	}
	return l.virtual(name, l.g.Tensors[id].Shape, []model.Linear{{Coef: c, Src: id}}, l.g.Tensors[id].Frac)
}

// expTable is the table of exp(key·2^−frac), 1 being 2^bits, for keys in [first, 0].
// That of the first key, which stands for masked entries, is 0.
func (l *builder) expTable(frac int, first int64, bits int) model.TableID {
	values := l.column(fmt.Sprint("exp ", frac, first, bits), func() []int32 {
		values := make([]int32, -first)
		for i := 1; i < len(values); i++ {
			values[i] = int32(math.Round(pow2(bits) * elementary.Exp(float64(first+1+int64(i))*pow2(-frac))))
		}
		return values
	})
	return l.funcTable("exp", first+1, values)
}

// scores are those of a Softmax: all of them, or with a mask the ones that count,
// from 0 on, with 0 in place of the others.
type scores struct {
	id     model.TensorID
	shape  []int
	mask   model.TensorID // of 0 and 1; None without
	labels []int

	width   int  // of a row, at most
	open    bool // whether that is free
	entries int  // as lowering.entries
	keys    int  // most bits of the table of exponentials that keys are made finer for, if not 0
}

// maskedScores applies a mask of 0 and 1, with these labels as a factor of the scores.
func (l *builder) maskedScores(m scores, mask model.TensorID, labels []int) scores {
	t := l.g.Tensors[m.id]
	e := l.product(m.shape, m.id, allLabels(m.shape), mask, labels, 1)
	e.acc.Linear = []model.Linear{{Coef: -t.Min, Src: mask, View: labelView(labels, m.shape)}}
	e.min, e.max, e.frac = 0, t.Max-t.Min, t.Frac
	m.id, m.mask, m.labels = l.exact("scores, masked", e), mask, labels
	return m
}

// maskOf returns a mask of zeros and ones for scores of a shape, with its labels.
func (l *lowering) maskOf(name string, shape []int) (model.TensorID, []int) {
	if c, part := l.whole(name); part != nil {
		return l.openMask(name, c, part, shape)
	} else if c != nil {
		labels, kept := broadcastLabels(c.Shape, shape)
		return l.mask(name, kept, labels, func(i int) bool { return c.I64[i] != 0 })
	}
	id := l.tensor(l.values[name])
	if t := &l.g.Tensors[id]; t.Frac != 0 || t.Min < 0 || t.Max > 1 {
		refuse("its mask %s may be other than 0 and 1", graph.Quote(name))
	}
	return l.squeezed(id, shape)
}

// less is 2^fine·x less a tensor of one number a row, which is at least as large: it
// is not below least, which it is where x is masked.
func (s scores) less(l *builder, row model.TensorID, fine, frac int, least int64) *expr {
	e := &expr{shape: s.shape, frac: frac, min: least, max: 0}
	e.acc.Linear = []model.Linear{{Coef: 1 << fine, Src: s.id}}
	if s.mask == model.None {
		e.acc.Linear = append(e.acc.Linear, model.Linear{Coef: -1, Src: row, View: broadcastView(l.g.Tensors[row].Shape, s.shape)})
		return e
	}
	row, labels := l.squeezed(row, s.shape)
	e.acc.Products = []model.Product{{Coef: -1, A: row, B: s.mask, LabelsA: labels, LabelsB: s.labels}}
	e.acc.Const = least
	e.acc.Linear = append(e.acc.Linear, model.Linear{Coef: -least, Src: s.mask, View: labelView(s.labels, s.shape)})
	return e
}

// logOfSum is the logarithm of the sums along the last axis, which they keep, of
// exponentials of which one is 1: rounded to frac bits, at least 0 and at most most.
func (l *builder) logOfSum(exp model.TensorID, width, frac int, most int64) []model.Linear {
	t := l.g.Tensors[exp]
	last := len(t.Shape) - 1
	if (elementary.Log(float64(width))+0.01)*pow2(frac) < 0.49 {
		return nil // it rounds to nothing beside scores this coarse
	}
	expBits := t.Frac
	w := wide{shape: append(append([]int(nil), t.Shape[:last]...), 1), constant: new(big.Int)}
	for from, size := 0, int((model.Bound-1)/t.Max); from < t.Shape[last]; from += size {
		n := min(size, t.Shape[last]-from)
		view := &model.View{Groups: append(identityGroups(last), model.Group{
			Out: []int{last}, In: []int{last}, Base: from, Strides: []int{0}, Sum: []model.SumIndex{{Dim: n, Stride: 1}},
		})}
		e := l.tensorExpr(exp, view, w.shape)
		e.max *= int64(min(size, width-from))
		w.terms = append(w.terms, wideTerm{e, 0})
	}
	digits := l.digits("sum", w, big.NewInt(int64(width)*t.Max))
	// Rounded to the scale of keys.
	shift := logBits - frac
	e := l.logOfDigits(w.shape, digits, expBits)
	e.max = max(most, 8) << shift
	if shift == 0 {
		return e.acc.Linear
	}
	e.acc.Const = 1 << (shift - 1)
	var log []model.Linear
	for i, p := range l.pieces("logarithm", e, shift)[1:] {
		log = append(log, p.times(1<<(digitBits*i)).acc.Linear...)
	}
	return log
}
