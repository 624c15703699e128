package lower

import (
	"fmt"
	"math"
	"sync"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// fineBits is the most bits, sign excluded, that the high limb of a function's argument has. It has
// fewer if its clamp table would have more than two rows for each entry of the argument (fineLow).
const fineBits = 13

// fineFunction makes the tensor of v, a function f of a wide value x = 2^k·high + low, for which
// no table can have all x. Between two multiples of 2^k it approximates f by a straight line,
//
//	f(x) ≈ start(high) + slope(high)·low,
//
// with two look-ups of high and one product. The sum is then rounded to v's
// format. If the formats of v and x have more than LimbedBits, it approximates f by a parabola (bow). It returns
// None if x is not wide, or if a table of 2^NarrowBits values is closer to f, as
// it may be if f has poles or waves.
func (l *lowering) fineFunction(v *value) model.TensorID {
	base := v.fn.base
	if l.opts.Mode == modeW8A8 || l.formatted(base) <= fixed.NarrowBits || base.rng.Abs() == 0 || v.rng.Abs() == 0 {
		return model.None
	}
	frac := l.fracFor(l.formatted(base), base.rng)
	if base.id == model.None && base.acc != nil {
		base.low = l.fineLow(base, frac)
	}
	if base.low == 0 {
		base.low = fixed.LowBits(l.formatted(base))
	}
	bent := l.finestOf(v) && l.finestOf(base)
	r, width := l.reachOf(base.rng), fixed.Pow2(base.low-frac)
	if !l.memory.closer.Of(fmt.Sprint(v.fn.key, " ", r, width, bent), func() bool { return straighter(v.fn.curve, r, width, bent) }) {
		base.low = 0
		return model.None
	}
	id := l.raw(base)
	if t := &l.Circuit.Tensors[id]; t.Max < 1<<fixed.NarrowBits && t.Min > -1<<fixed.NarrowBits {
		return model.None // the argument's accumulator had no more than NarrowBits
	}
	p := l.SplitOf(id)
	high := l.Circuit.Tensors[p.High]
	from, to := keyDomain(high.Min, high.Max)
	if to-from >= 1<<fixed.NarrowBits {
		return model.None
	}
	out := l.fracFor(l.bitsOf(v), v.rng)
	most := 2 * l.reachOf(v.rng)
	if bent {
		most = math.Min(most, float64(fixed.Pow2(l.bitsOf(v)-out)*17/16)) // as far as the format reaches
	}
	c := l.linesOf(v.fn.curve, from, to-from+1, p.Bits, l.Circuit.Tensors[id].Frac, out, most, bent)
	frac = c.start.Frac
	at := l.Of(p.High)
	of := func(what string, c *fixed.Column) model.TensorID {
		return l.LookUp(v.name+", "+what, v.fn.name+", "+what, at, at.Frac, from, c)
	}
	a, b := of("start", c.start), of("slope", c.slope)
	rise := l.EntryProduct(high.Shape, b, p.Low)
	if bent {
		rise = rise.Plus(l.EntryProduct(high.Shape, of("bend", c.bend), l.bow(v, p)))
	}
	// What is added to the start is on the slopes' scale. If that is finer than the starts', it is rounded first.
	rise = rise.On(c.slope.Frac)
	e := l.Of(a)
	if rise.Frac == frac {
		e = e.Plus(rise)
	} else {
		r := l.Of(l.RoundTo(v.name+", rise", rise, min(frac, out+2)))
		e = e.Plus(r.Times(1 << (frac - r.Frac)))
	}
	return l.roundFormat(v, e, v.rng, l.bitsOf(v), fixed.WholeLine)
}

// lineColumns are the columns of a function that is approximated by straight lines or parabolas, with a row for each
// of them: its value at the start, its slope for a step of the low limb, and how much it bends (nil for lines).
// The product of slope and low limb is on the slope's scale. That is finer than the start's scale if one
// accumulator has no room for both on a fine scale.
type lineColumns struct {
	start, slope, bend *fixed.Column
}

// linesOf makes the columns of f for n pieces, from piece number `from` on. A piece is 2^k units of 2^−unit
// wide. Values of f are clamped to ±most, and bent says whether pieces are parabolas. The results are meant for the
// scale out. The key under which columns are remembered has all that they depend on, so that equal nodes, as the
// steps of a loop, and several passes over one node have them made once.
func (l *lowering) linesOf(f curve, from, n int64, k, unit, out int, most float64, bent bool) *lineColumns {
	pieces := sync.OnceValue(func() curvePieces { return piecesOf(f, from, n, fixed.Pow2(k-unit), most, bent) })
	key := fmt.Sprint(f.key, " in pieces of ", from, n, k, unit, out, bent)
	key = l.keyWithin(key, most, func() float64 { return pieces().largest })
	return l.memory.lines.Of(key, func() *lineColumns { return pieces().columns(k, out) })
}

// columns rounds the pieces, of 2^k units each, to columns for results on the scale out.
func (p curvePieces) columns(k, out int) *lineColumns {
	// A slope is rounded by up to half of 2^−frac and then multiplied by up to 2^k. With this frac that makes an error of
	// up to an eighth of 2^−out. Where an accumulator has no room, frac is smaller.
	frac := out + k + 2
	rise := frac
	fit := func(reach float64, frac int) int {
		for float64(reach*fixed.Pow2(frac)) >= model.Bound/2-fixed.Pow2(k) {
			frac--
		}
		return frac
	}
	largest, steepest := magnitudeOf(p.start), 0.0 // of a start, and of what is added to one
	for i, y := range p.start[1:] {
		steepest = max(steepest, math.Abs(y-p.start[i]))
	}
	steepest += magnitudeOf(p.bend)
	// If the slopes' error would be more than four times 2^−out, they get a finer scale than the starts.
	if frac = fit(largest+steepest, frac); frac < out+k-3 && p.bend != nil {
		rise = fit(steepest, rise)
	} else {
		rise = frac
	}
	starts, slopes, bends := p.rounded(frac, rise, k)
	c := &lineColumns{start: fixed.NewColumn(starts, frac, p.saturated), slope: fixed.NewColumn(slopes, rise, nil)}
	if p.bend != nil {
		c.bend = fixed.NewColumn(bends, rise-k, nil)
	}
	return c
}

// bow is 4·low·(2^k − low)/2^k, rounded, for the low limbs of a tensor: 0 at both ends of a piece and 2^k in the middle. A
// straight line between two multiples of 2^k plus a multiple of the bow is a parabola.
func (l *lowering) bow(v *value, p fixed.Split) model.TensorID {
	n := 1 << p.Bits
	c := l.Tabulated(fmt.Sprint("bow ", p.Bits), int64(n), p.Bits, func(i int) float64 { return float64((4*i*(n-i) + n/2) / n) })
	low := l.Of(p.Low)
	return l.LookUp(v.name+", bow", "bow", low, low.Frac, 0, c)
}

// curvePieces are a function, cut into n pieces of equal width. start has its values at the n + 1 ends of the
// pieces. bend has, for each piece, how far the function is above the straight line in the middle of the piece; nil if
// pieces are lines. saturated has the pieces at whose ends the function was clamped or is not defined.
type curvePieces struct {
	start, bend []float64
	saturated   []model.Rows
	largest     float64 // magnitude of what was evaluated, before it was clamped
}

// piecesOf cuts f into n pieces, which begin at from·width. Values are clamped to ±most; NaN becomes 0.
func piecesOf(f curve, from, n int64, width, most float64, bent bool) curvePieces {
	c := curvePieces{start: make([]float64, n+1)}
	at := func(x float64) (y float64, inside bool) {
		y = f.at(x)
		c.largest = worse(c.largest, y)
		inside = !math.IsNaN(y) && math.Abs(y) <= most && f.defined(x)
		if y = max(-most, min(most, y)); math.IsNaN(y) {
			y = 0
		}
		return y, inside
	}
	for i := range n + 1 {
		y, inside := at(float64(from+i) * width)
		if c.start[i] = y; !inside {
			c.saturated = append(c.saturated, model.Rows{From: max(i-1, 0), To: min(i, n-1) + 1})
		}
	}
	if !bent {
		return c
	}
	c.bend = make([]float64, n)
	for i := range c.bend {
		if y, inside := at((float64(from+int64(i)) + 0.5) * width); inside {
			c.bend[i] = y - float64((c.start[i]+c.start[i+1])/2)
		}
	}
	return c
}

// rounded returns the columns of tables for pieces of 2^k steps: the starts in units of 2^−frac, the
// slopes in units of 2^−rise a step, and the bends in units of 2^(k−rise). If there are bends, the errors that
// rounding makes in slope and bend are added to the start, in the mean over the piece: the mean of the low limb is
// 2^(k−1), and that of the bow 2^(k+1)/3.
func (c curvePieces) rounded(frac, rise, k int) (starts, slopes, bends []int32) {
	n := len(c.start) - 1
	starts, slopes, bends = make([]int32, n), make([]int32, n), make([]int32, len(c.bend))
	unit, step, half, twice := fixed.Pow2(frac), fixed.Pow2(rise-k), fixed.Pow2(k-1+frac-rise), fixed.Pow2(k+1+frac-rise)
	for i := range starts {
		y, slope := float64(c.start[i]*unit), float64((c.start[i+1]-c.start[i])*step)
		slopes[i] = int32(math.Round(slope))
		if c.bend != nil {
			bend := float64(c.bend[i] * step)
			bends[i] = int32(math.Round(bend))
			y += float64((slope-float64(slopes[i]))*half) + float64(float64((bend-float64(bends[i]))*twice)/3)
		}
		starts[i] = int32(math.Round(y))
	}
	return starts, slopes, bends
}

// fineLow is the number of bits of the low limb of a function's argument, which is rounded to the scale frac: the least
// with which the high limb has at most fineBits and its clamp table at most two rows for an entry, or fixed.LowBits if
// there is none below that.
func (l *lowering) fineLow(base *value, frac int) int {
	bits, e := l.formatted(base), base.acc
	frac = max(min(frac, e.Frac), e.Frac-fixed.MaxRounding)
	k := max(bits-fineBits, 1)
	for ; k < fixed.LowBits(bits); k++ {
		if rows := fixed.TableBits(fixed.Keys(e, frac-k)); 1<<rows <= 2*l.Entries(e.Shape) && rows <= fixed.WideTable+1 {
			break
		}
	}
	return k
}

// straighter reports whether straight lines between multiples of width (parabolas if bent) are closer to f on [−r, r]
// than a table for values of NarrowBits, by the mean square of the error. The table's error is that of rounding
// the argument: the slope of f times a unit of the argument over √12.
func straighter(f curve, r, width float64, bent bool) bool {
	const samples = 1 << 12
	half := float64(r * fixed.Pow2(-fixed.NarrowBits))
	var lines, table float64
	for i := range samples {
		// The odd factor keeps samples off multiples of a power of two, where lines or table would be exact.
		at := float64(r * (float64(float64(2*i+1)/samples) - 1) * 0.9990234)
		left := float64(math.Floor(at/width) * width)
		share := (at - left) / width
		a, b, y := f.at(left), f.at(left+width), f.at(at)
		off := a + float64(share*(b-a)) - y
		if bent {
			off += float64(float64(4*share*(1-share)) * (f.at(left+float64(width/2)) - float64((a+b)/2)))
		}
		slope := (f.at(at+half) - f.at(at-half)) / math.Sqrt(12)
		if math.IsNaN(off+slope) || math.IsInf(off+slope, 0) || !f.defined(at) {
			return false
		}
		lines, table = lines+float64(off*off), table+float64(slope*slope)
	}
	return lines < table
}
