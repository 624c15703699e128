package quantise

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// fixed is a fixed tensor whose values are computed when the graph is final.
type fixed struct {
	id   model.TensorID
	fill filler
	// key tells the values apart from those of other weights of the model, so that
	// they are not computed again; "" if nothing does.
	key string
	// most is the largest magnitude of the values; 0 if it is not known.
	most int64
}

// filler sets dst to the entries of a fixed tensor from the given one on. It may
// be called for several parts at once.
type filler func(dst []int32, from int)

// fixed adds a fixed tensor.
func (l *builder) fixed(name string, shape []int, frac int, lo, hi int64, fill filler) model.TensorID {
	id := l.add(model.Tensor{Name: name, Shape: shape, Kind: model.Fixed, Frac: frac, Min: lo, Max: hi})
	l.fixeds = append(l.fixeds, fixed{id: id, fill: fill})
	return id
}

// key says by what name the values of the fixed tensor that was added last are known, and
// their largest magnitude if that is known.
func (l *builder) key(name string, most int64) {
	f := &l.fixeds[len(l.fixeds)-1]
	f.key, f.most = name, most
}

// values computes the values, in the width that they need: large weights are never
// in 32 bits as a whole.
func (f *fixed) values(t *model.Tensor) ints.Ints {
	n, least := model.Size(t.Shape), f.most-1 // where only negative ones may be as large
	if f.most == 0 {
		// The range has some room to the values, so half of it is tried first.
		least = max(t.Max, -t.Min-1) / 2
	}
	for width := ints.WidthFor(least); ; width *= 2 {
		if v, ok := ints.Make(n, width, f.fill); ok {
			return v
		}
	}
}

// roundedConstant is a constant with all its entries rounded to one scale.
type roundedConstant struct {
	t    *graph.Tensor
	frac int
}

// rounded adds a constant times 2^frac, rounded to integers within ±reach, of which the
// largest has the magnitude most. It is one tensor for all that use it so, such as
// embeddings that are the output layer as well.
func (l *lowering) rounded(name string, w *constantWeights, shape []int, frac int, reach, most int64) model.TensorID {
	key := roundedConstant{w.Tensor, frac}
	if id, ok := l.roundeds[key]; ok && slices.Equal(l.g.Tensors[id].Shape, shape) {
		return id
	}
	id := l.fixed(name, shape, frac, -reach, reach, quantised(w, frac, []int{0}, w.Len()))
	l.weights[id] = w
	l.key(fmt.Sprint(name, " by ", w.by, shape, frac, " rounded"), most)
	l.roundeds[key] = id
	return id
}

// constant adds a fixed tensor, or one by formula, of the given values, rounded to
// frac.
func (l *builder) constant(name string, shape []int, values []float64, frac int) model.TensorID {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	scale := pow2(frac)
	if a := math.Max(-lo, hi) * scale; a >= model.Bound-1 {
		refuse("constant %q: %g is too large beside the values it meets", name, math.Max(-lo, hi))
	}
	if id, ok := l.byFormula(name, shape, values, frac); ok {
		return id
	}
	return l.fixed(name, shape, frac, int64(math.Round(lo*scale)), int64(math.Round(hi*scale)), func(dst []int32, from int) {
		for i := range dst {
			dst[i] = int32(math.Round(values[from+i] * scale))
		}
	})
}

// uniform returns the value that all entries of a constant have.
func uniform(t *graph.Tensor) (float64, bool) {
	x := t.At(0)
	for i := 1; i < t.Len(); i++ {
		if t.At(i) != x {
			return 0, false
		}
	}
	return x, true
}

// channelStats describes the weights that one output entry sums over: the sums of
// the positive ones and of the magnitudes of the negative ones, the largest
// magnitude, and the sum of the squares.
type channelStats struct{ pos, neg, max, squares float64 }

// constantWeights are a constant of the float graph, maybe times factors: entry i times
// factors[i/stride mod len(factors)].
type constantWeights struct {
	*graph.Tensor
	by      string // the factors' constant, or what else tells weights of one name apart
	factors []float64
	stride  int
}

// same reports whether both are the same numbers.
func (c *constantWeights) same(o *constantWeights) bool {
	return sameTensor(c.Tensor, o.Tensor) && c.stride == o.stride && slices.Equal(c.factors, o.factors)
}

// part returns n weights from index at on, in a buffer if they are not the
// constant's floats. (Integer constants beyond 2^24 are rounded, which is far finer
// than their quantisation.)
func (c *constantWeights) part(at, n int, buffer *[]float32) []float32 {
	if c.F32 != nil && c.factors == nil {
		return c.F32[at : at+n]
	}
	if cap(*buffer) < n {
		*buffer = make([]float32, n)
	}
	b := (*buffer)[:n]
	if c.I64 == nil {
		c.Read(b, at)
	} else {
		for i := range b {
			b[i] = float32(c.At(at + i))
		}
	}
	if c.factors == nil {
		return b
	}
	// Divisions are dear: none for an entry.
	j, left := at/c.stride%len(c.factors), c.stride-at%c.stride
	for rest := b; len(rest) > 0; {
		if c.stride == 1 {
			f := c.factors[j:]
			n := min(len(f), len(rest))
			for i, x := range rest[:n] {
				rest[i] = float32(float64(x) * f[i])
			}
			rest, j = rest[n:], 0
			continue
		}
		n, f := min(left, len(rest)), c.factors[j]
		for i, x := range rest[:n] {
			rest[i] = float32(float64(x) * f)
		}
		rest, left = rest[n:], c.stride
		if j++; j == len(c.factors) {
			j = 0
		}
	}
	return b
}

// statsKey is weights and the axis that holds their output channels, as
// (outer, channels, inner) dimensions of the row-major array.
type statsKey struct {
	name, by string
	channels int
	inner    int
}

// weightStats remembers the statistics of weights between passes, and the values
// that the last two models have, columns among them: a pass over large weights is not
// free. A search tries variations of one model in turn, so that what one of them changes
// is in the one before the last.
type weightStats struct {
	m            map[statsKey]*channels
	greatest     map[string]float64 // magnitudes of constants, by name
	last, before map[string]ints.Ints
	filled       *Model // that was given weights last
	columns      madeColumns
	bands        map[*graph.Tensor]band // of masks
	texts        *texts                 // of the graph that is quantised
}

// largeWeights is the number of weights from which on only one model of a search has them:
// they are gigabytes.
var largeWeights = 1 << 30

// making is what a model's weights are made from.
type making struct {
	graph *model.Graph // that has the tensors
	list  []fixed
	done  bool // whether the model has them
}

// entries is the number of weights.
func (m *making) entries() int {
	n := 0
	for _, f := range m.list {
		n += model.Size(m.graph.Tensors[f.id].Shape)
	}
	return n
}

// fill gives a model its weights, unless it has them. Values that the last two models have
// are not computed again, and those that only the one before the last has are forgotten;
// large ones are forgotten at once, and the last model loses its weights.
func (w *weightStats) fill(m *Model) {
	if m.making.done {
		return
	}
	if m.making.entries() >= largeWeights {
		w.forget(m.making.list)
	}
	values := map[string]ints.Ints{}
	for _, f := range m.making.list {
		v := values[f.key]
		if v == nil {
			v = w.last[f.key]
		}
		if v == nil {
			v = w.before[f.key]
		}
		if v == nil {
			v = f.values(&m.making.graph.Tensors[f.id])
		}
		if f.key != "" {
			values[f.key] = v
		}
		m.Weights[f.id] = v
	}
	w.last, w.before = values, w.last
	w.columns.next()
	w.filled, m.making.done = m, true
}

// forget gives back the memory of all weights that are made but for those that some fixed
// tensors have.
func (w *weightStats) forget(but []fixed) {
	if w.filled == nil {
		return
	}
	clear(w.filled.Weights) // of its instances as well
	w.filled.making.done = false
	kept := map[string]ints.Ints{}
	for _, f := range but {
		if v := w.last[f.key]; v != nil {
			kept[f.key] = v
		}
	}
	w.filled, w.last, w.before = nil, kept, nil
	runtime.GC() // before as much is asked for again
}

// of returns, for every output channel of a constant, the sums of its
// positive and negative weights (the latter negated) and the largest
// magnitude. The channel of entry i is i/inner mod count.
func (w *weightStats) of(name string, t *constantWeights, count, inner int) *channels {
	key := statsKey{name, t.by, count, inner}
	if s, ok := w.m[key]; ok {
		return s
	}
	s := make([]channelStats, count)
	outer := t.Len() / count / inner
	// Every channel is summed by one goroutine in index order, so the sums do
	// not depend on the split.
	parallel.For(count, max(1, 1<<14/(outer*inner)), func(lo, hi int) {
		buffer := buffers.Get().(*[]float32)
		defer buffers.Put(buffer)
		for o := range outer {
			for c := lo; c < hi; {
				// A run of whole channels, or one channel.
				n := 1
				if inner == 1 {
					n = hi - c
				}
				run := t.part((o*count+c)*inner, n*inner, buffer)
				for i := range n {
					s[c+i].add(run[i*inner : (i+1)*inner])
				}
				c += n
			}
		}
	})
	return w.keep(key, s)
}

// keep remembers statistics.
func (w *weightStats) keep(key statsKey, list []channelStats) *channels {
	if w.m == nil {
		w.m = map[statsKey]*channels{}
	}
	w.m[key] = newChannels(list)
	return w.m[key]
}

// largest returns the largest magnitude of a constant.
func (w *weightStats) largest(name string, t *constantWeights) float64 {
	if most, ok := w.greatest[name]; ok {
		return most
	}
	const part = 1 << 12
	parts := (t.Len() + part - 1) / part
	all := make([]float32, parts)
	parallel.For(parts, 16, func(lo, hi int) {
		buffer := buffers.Get().(*[]float32)
		defer buffers.Put(buffer)
		for i := lo; i < hi; i++ {
			all[i] = largestOf(t.part(i*part, min(part, t.Len()-i*part), buffer))
		}
	})
	if w.greatest == nil {
		w.greatest = map[string]float64{}
	}
	w.greatest[name] = float64(largestOf(all))
	return w.greatest[name]
}

// largestOf is the largest magnitude of finite numbers, which their bits but for the sign
// are in the order of.
func largestOf(v []float32) float32 {
	most := uint32(0)
	for _, x := range v {
		most = max(most, math.Float32bits(x)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// statsOf are the statistics of the channels of weights: of those that are part of a
// larger constant, by which values are multiplied entry by entry, the greatest of all.
func (l *lowering) statsOf(w weighting) *channels {
	if w.part == nil {
		return l.stats.of(w.name, w.t, w.channels, w.inner)
	}
	key := statsKey{name: w.name, by: w.t.by}
	if s, ok := l.stats.m[key]; ok {
		return s
	}
	var c channelStats
	for i := range w.t.Len() {
		x := w.t.At(i)
		c.pos, c.neg = math.Max(c.pos, x), math.Max(c.neg, -x)
	}
	c.max = math.Max(c.pos, c.neg)
	c.squares = float64(c.max * c.max)
	return l.stats.keep(key, []channelStats{c})
}

// add takes in a channel's weights. Signs are as good as random, so there are no
// branches on them: x + |x| is twice x or 0, and sums of doubled numbers are doubled sums,
// to the last bit. Finite numbers are in the order of their bits but for the sign.
func (c *channelStats) add(weights []float32) {
	pos, neg, squares, most := 2*c.pos, 2*c.neg, c.squares, uint32(0)
	for _, w := range weights {
		bits := math.Float32bits(w) &^ (1 << 31)
		x, size := float64(w), float64(math.Float32frombits(bits))
		pos += size + x
		neg += size - x
		most = max(most, bits)
		squares += float64(x * x)
	}
	*c = channelStats{pos / 2, neg / 2, math.Max(c.max, float64(math.Float32frombits(most))), squares}
}

// operandBounds are what is known of the entries x that are multiplied with
// weights: lo ≤ x ≤ hi, or x = 0, and the Euclidean norm of those that one output
// entry sums over (0: unknown).
type operandBounds struct {
	lo, hi, norm float64
	count        int // of the entries that are summed
}

// reach bounds Σ x·w from below and above, over the channel's weights times
// 2^frac, rounded to multiples of 2^exponent: by the entries' range, or by Cauchy
// and Schwarz where that is less.
func (c channelStats) reach(frac, exponent int, x operandBounds) (down, up float64) {
	lo, hi := math.Max(0, -x.lo), math.Max(0, x.hi)
	s, half := pow2(frac), pow2(exponent)/2
	slack := float64(float64(x.count) * half * math.Max(lo, hi))
	up, down = c.sums(lo, hi)
	up, down = float64(up*s)+slack, float64(down*s)+slack
	if x.norm > 0 {
		// More than rounding can have made of a sum of floats.
		most := (float64(math.Sqrt(c.squares)*s) + float64(half*math.Sqrt(float64(x.count)))) * x.norm * (1 + 1e-6)
		up, down = math.Min(up, most), math.Min(down, most)
	}
	return down, up
}

// reachOfAll is reach for the greatest sums of all channels: of positive weights, of
// negative ones, and of both. It is what a certificate says (package bounds), and hardly
// more than the greatest reach of one channel.
func reachOfAll(stats []channelStats, frac int, exponents []int, x operandBounds) (down, up float64) {
	lo, hi := math.Max(0, -x.lo), math.Max(0, x.hi)
	var pos, neg, both float64
	for c, s := range stats {
		scale, slack := pow2(frac), float64(float64(x.count)*pow2(exponents[c])/2)
		pos = math.Max(pos, float64(s.pos*scale)+slack)
		neg = math.Max(neg, float64(s.neg*scale)+slack)
		both = math.Max(both, float64((s.pos+s.neg)*scale)+slack)
	}
	// The greatest sum of the two, of which the first counts more.
	most := func(a, times, b, less float64) float64 { return float64(a*times) + float64(math.Min(b, both-a)*less) }
	if hi >= lo {
		return most(neg, hi, pos, lo), most(pos, hi, neg, lo)
	}
	return most(pos, lo, neg, hi), most(neg, lo, pos, hi)
}

// sums are Σ x·w at most, and negated at least, for x in [−lo, hi]. (As everywhere
// here, conversions keep compilers from fusing a product with a sum.)
func (c channelStats) sums(lo, hi float64) (up, down float64) {
	return float64(c.pos*hi) + float64(c.neg*lo), float64(c.pos*lo) + float64(c.neg*hi)
}

// fixed adds the weights times 2^frac, rounded to multiples of 2^exponents[c] in
// channel c.
func (w *weighting) fixed(l *lowering, frac int) model.TensorID {
	r := l.scaledBy(l.statsOf(*w), frac).rounded()
	reach := int64(r.size)
	if w.t.factors == nil && w.part == nil && r.whole {
		return l.rounded(w.name, w.t, w.shape, frac, reach, r.most)
	}
	id := l.fixed(w.name, w.shape, frac, -reach, reach, quantised(w.t, frac, r.exponents, w.inner))
	l.weights[id] = w.t
	// The exponents follow from the weights, the scale and the options.
	l.key(fmt.Sprint(w.name, " by ", w.t.by, w.shape, w.inner, frac, " in ", len(r.exponents), " of ", l.opts.WeightBits), r.most)
	if w.part != nil {
		return l.begun(id, w.part)
	}
	return id
}

// roundedTo is x times 2^frac, rounded to a multiple of 2^exponent.
func roundedTo(x float64, frac, exponent int) int64 {
	return int64(math.RoundToEven(x*pow2(frac-exponent))) << exponent
}

// buffers are for floats that are read to be rounded or summed.
var buffers = sync.Pool{New: func() any { return new([]float32) }}

// quantised returns weights times 2^frac, rounded to multiples of
// 2^exponents[c] in channel c (which is i/inner mod channels).
func quantised(t *constantWeights, frac int, exponents []int, inner int) filler {
	var scales []float64 // where a run of numbers of one channel is too short
	if inner == 1 {
		for _, e := range exponents {
			scales = append(scales, pow2(frac-e))
		}
	}
	return func(dst []int32, from int) {
		buffer := buffers.Get().(*[]float32)
		defer buffers.Put(buffer)
		run := t.part(from, len(dst), buffer)
		if inner == 1 {
			for len(run) > 0 {
				c := from % len(exponents)
				n := min(len(run), len(exponents)-c)
				part, shifts := scales[c:c+n], exponents[c:c+n]
				for i, x := range run[:n] {
					dst[i] = int32(math.RoundToEven(float64(x)*part[i])) << (shifts[i] & 31)
				}
				dst, run, from = dst[n:], run[n:], from+n
			}
			return
		}
		for len(run) > 0 {
			row := from / inner
			e := exponents[row%len(exponents)]
			n := min(len(run), (row+1)*inner-from)
			ints.Round(dst[:n], run[:n], frac-e, e)
			dst, run, from = dst[n:], run[n:], from+n
		}
	}
}
