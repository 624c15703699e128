package weights

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/quantise/fixed"
)

// Channels are the statistics of all output channels of weights.
type Channels struct {
	list []channelStats
	// greatest are those channels beside which no other is as large or larger in every
	// statistic. Bounds grow with each statistic, so the greatest bound of all channels is one
	// of these few.
	greatest []channelStats
	// shown is what a circuit may tell of secret weights: of each statistic the greatest
	// of all channels, rounded up to the grid, but of the sums of magnitudes alone, which are
	// in the place of those of positive weights. Nil if they are not secret.
	shown     *channelStats
	Most, Sum float64 // the largest weight, and the largest sum of a channel's magnitudes
	Median    float64 // of the channels' largest weights, of those that are not 0; 0 if there is none
}

// Scaled are channels whose weights are times 2^frac, with mantissas of so many bits.
type Scaled struct {
	of         *Channels
	frac, bits int
}

// Reach says how far sums may be below 0, and above.
type Reach struct{ Down, Up float64 }

// Around is the reach of sums whose magnitudes are at most that.
func Around(most float64) Reach { return Reach{most, most} }

// Most is the larger of the two.
func (r Reach) Most() float64 { return math.Max(r.Down, r.Up) }

func newChannels(list []channelStats, secret bool) *Channels {
	c := &Channels{list: list}
	var largest []float64
	for i := range list {
		if list[i].max > 0 {
			largest = append(largest, list[i].max)
		}
	}
	if slices.Sort(largest); len(largest) > 0 {
		c.Median = largest[len(largest)/2]
	}
	for i := range list {
		if c.add(&list[i]); len(c.greatest) > mostGreatest {
			c.greatest = list
			break
		}
	}
	squares := 0.0
	for _, g := range c.greatest {
		c.Most, c.Sum, squares = math.Max(c.Most, g.max), math.Max(c.Sum, g.pos+g.neg), math.Max(squares, g.squares)
	}
	if secret {
		c.Most, c.Sum, c.Median = OnGrid(c.Most), OnGrid(c.Sum), OnGrid(c.Median)
		norm := OnGrid(math.Sqrt(squares))
		c.shown = &channelStats{pos: c.Sum, max: c.Most, squares: float64(norm * norm)}
	}
	return c
}

// mostGreatest bounds the channels that each other one is compared with: of the weights of models
// there are some hundred. Where there are more, all count.
const mostGreatest = 1 << 10

// add adds a channel to the greatest ones, unless one of these is as large in everything.
func (c *Channels) add(x *channelStats) {
	for i := range c.greatest {
		if x.within(&c.greatest[i]) {
			return
		}
	}
	c.greatest = slices.DeleteFunc(c.greatest, func(y channelStats) bool { return y.within(x) })
	c.greatest = append(c.greatest, *x)
}

// gridBits are the binary digits of numbers on the grid.
const gridBits = 7

// OnGrid returns the least number of the grid that is not below x ≥ 0: 0, or the greatest
// number of 7 binary digits below a power of two. (Powers of two themselves would take a
// bit more than the values below them.)
func OnGrid(x float64) float64 {
	if x == 0 {
		return 0
	}
	power := fixed.Pow2(fixed.FloorLog2(x) + 1)
	y := power - float64(power*fixed.Pow2(-gridBits)) // exact, as both are
	if y < x {
		y *= 2
	}
	return y
}

// exponent is the number of low bits of a channel's weights that are zero.
func (s Scaled) exponent(c *channelStats) int {
	if c.max == 0 {
		return 0
	}
	return max(0, fixed.FloorLog2(c.max*fixed.Pow2(s.frac))+2-s.bits)
}

// Count is the number of channels.
func (s Scaled) Count() int { return len(s.of.list) }

// Exponents are the numbers of low bits that are zero, by channel.
func (s Scaled) Exponents() []int {
	list := make([]int, len(s.of.list))
	for i := range list {
		list[i] = s.exponent(&s.of.list[i])
	}
	return list
}

// Reach is the greatest reach of a channel.
func (s Scaled) Reach(x OperandBounds) (r Reach) {
	if shown := s.of.shown; shown != nil {
		x.Lo, x.Hi = 0, math.Max(0, math.Max(-x.Lo, x.Hi))
		return Around(shown.reach(s.frac, s.exponent(shown), x).Up)
	}
	for i := range s.of.greatest {
		c := &s.of.greatest[i]
		of := c.reach(s.frac, s.exponent(c), x)
		r = Reach{math.Max(r.Down, of.Down), math.Max(r.Up, of.Up)}
	}
	return r
}

// ReachOfAll is reach for the greatest sums of all channels: of positive weights, of negative
// ones, and of both. It is what a certificate says (package bounds), and hardly more than the
// greatest reach of one channel.
func (s Scaled) ReachOfAll(x OperandBounds) Reach {
	if s.of.shown != nil {
		return s.Reach(x)
	}
	lo, hi := math.Max(0, -x.Lo), math.Max(0, x.Hi)
	var pos, neg, both float64
	for i := range s.of.greatest {
		c := &s.of.greatest[i]
		scale, slack := fixed.Pow2(s.frac), float64(float64(x.Count)*fixed.Pow2(s.exponent(c))/2)
		pos = math.Max(pos, float64(c.pos*scale)+slack)
		neg = math.Max(neg, float64(c.neg*scale)+slack)
		both = math.Max(both, float64((c.pos+c.neg)*scale)+slack)
	}
	// The greatest sum of the two, of which the first counts more.
	most := func(a, times, b, less float64) float64 { return float64(a*times) + float64(math.Min(b, both-a)*less) }
	if hi >= lo {
		return Reach{most(neg, hi, pos, lo), most(pos, hi, neg, lo)}
	}
	return Reach{most(pos, lo, neg, hi), most(neg, lo, pos, hi)}
}

// Rounded returns what no scaled weight is beyond, the largest magnitude of the integers that they
// become, and whether none of these has low bits that are zero.
func (s Scaled) Rounded() (size float64, most int64, whole bool) {
	beyond := func(c *channelStats) (float64, int) {
		e := s.exponent(c)
		return float64(c.max*fixed.Pow2(s.frac)) + fixed.Pow2(e), e
	}
	whole = true
	for i := range s.of.greatest {
		c := &s.of.greatest[i]
		of, e := beyond(c)
		size, most, whole = math.Max(size, of), max(most, RoundedTo(c.max, s.frac, e)), whole && e == 0
	}
	if c := s.of.shown; c != nil {
		of, e := beyond(c)
		return of, most, e == 0
	}
	return size, most, whole
}

// channelStats describes the weights that one output entry sums over: the sums of
// the positive ones and of the magnitudes of the negative ones, the largest
// magnitude, and the sum of the squares.
type channelStats struct{ pos, neg, max, squares float64 }

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

// OperandBounds are what is known of the entries x that are multiplied with
// weights: lo ≤ x ≤ hi, or x = 0, and the Euclidean norm of those that one output
// entry sums over (0: unknown).
type OperandBounds struct {
	Lo, Hi, Norm float64
	Count        int // of the entries that are summed
}

// reach bounds Σ x·w from below and above, over the channel's weights times
// 2^frac, rounded to multiples of 2^exponent: by the entries' range, or by Cauchy
// and Schwarz where that is less. (As everywhere here, conversions keep compilers from fusing a
// product with a sum.)
func (c *channelStats) reach(frac, exponent int, x OperandBounds) Reach {
	lo, hi := math.Max(0, -x.Lo), math.Max(0, x.Hi)
	s, half := fixed.Pow2(frac), fixed.Pow2(exponent)/2
	slack := float64(float64(x.Count) * half * math.Max(lo, hi))
	up, down := float64(c.pos*hi)+float64(c.neg*lo), float64(c.pos*lo)+float64(c.neg*hi)
	up, down = float64(up*s)+slack, float64(down*s)+slack
	if x.Norm > 0 {
		// More than rounding can have made of a sum of floats.
		most := (float64(math.Sqrt(c.squares)*s) + float64(half*math.Sqrt(float64(x.Count)))) * x.Norm * (1 + 1e-6)
		up, down = math.Min(up, most), math.Min(down, most)
	}
	return Reach{down, up}
}

// within reports whether a channel is no larger than another one in any statistic.
func (c *channelStats) within(o *channelStats) bool {
	return c.pos <= o.pos && c.neg <= o.neg && c.max <= o.max && c.squares <= o.squares
}

// ScaledBy are the channels with weights times 2^frac and mantissas of that many bits.
func (c *Channels) ScaledBy(frac, bits int) Scaled { return Scaled{c, frac, bits} }
