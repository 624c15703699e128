package weights

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/quantise/fixed"
)

// Channels are the statistics of all output channels of weights.
type Channels struct {
	list []channelStats
	// greatest are those channels for which no other one is at least as large in every
	// statistic. Bounds grow with each statistic, so the greatest bound of all channels is that
	// of one of these few.
	greatest []channelStats
	// shown is what a circuit may tell of secret weights, as the statistics of one channel: the
	// largest weight, sum of magnitudes (as pos, with neg 0) and sum of squares that any
	// channel has, each rounded up to the grid. Nil if the weights are not secret.
	shown     *channelStats
	Most, Sum float64 // the largest weight, and the largest sum of a channel's magnitudes
	Median    float64 // the median of the channels' largest weights, without those that are 0; 0 if all are
}

// Scaled are the channels of weights that are multiplied by 2^frac and rounded, each channel to a power of
// two of its own, so that signed mantissas of so many bits hold them.
type Scaled struct {
	of         *Channels
	frac, bits int
}

// Reach bounds sums: they lie in [−Down, Up].
type Reach struct{ Down, Up float64 }

// Around is the reach of sums in [−most, most].
func Around(most float64) Reach { return Reach{most, most} }

// Most bounds the magnitudes of the sums.
func (r Reach) Most() float64 { return math.Max(r.Down, r.Up) }

// newChannels derives what Channels has from the statistics of each channel. For secret weights, Most,
// Sum and Median are rounded up to the grid.
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

// mostGreatest bounds the list of greatest channels, since each channel is compared with all of these.
// Weights of models have some hundred. If there are more, all channels take their place.
const mostGreatest = 1 << 10

// add adds a channel to the greatest ones, unless one of these is at least as large in every
// statistic, and removes those that are no larger than it in any.
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
	y := power - float64(power*fixed.Pow2(-gridBits)) // 127/128 of a power of two, exactly
	if y < x {
		y *= 2
	}
	return y
}

// exponent is the number of low bits of a channel's weights that are zero, so that the
// largest weight has a signed mantissa of s.bits bits.
func (s Scaled) exponent(c *channelStats) int {
	if c.max == 0 {
		return 0
	}
	return max(0, fixed.FloorLog2(c.max*fixed.Pow2(s.frac))+2-s.bits)
}

// Count is the number of channels.
func (s Scaled) Count() int { return len(s.of.list) }

// Exponents returns the number of low bits that are zero, for each channel.
func (s Scaled) Exponents() []int {
	list := make([]int, len(s.of.list))
	for i := range list {
		list[i] = s.exponent(&s.of.list[i])
	}
	return list
}

// Reach is the greatest reach of a channel's sums Σ w·x of rounded weights with entries x. For secret
// weights it follows from what the circuit may tell of them, and the magnitudes of x, alone.
func (s Scaled) Reach(x OperandBounds) (r Reach) {
	if shown := s.of.shown; shown != nil {
		x.Lo, x.Hi = 0, math.Max(0, math.Max(-x.Lo, x.Hi)) // as shown has a sum of magnitudes, the largest |x| counts
		return Around(shown.reach(s.frac, s.exponent(shown), x).Up)
	}
	for i := range s.of.greatest {
		c := &s.of.greatest[i]
		of := c.reach(s.frac, s.exponent(c), x)
		r = Reach{math.Max(r.Down, of.Down), math.Max(r.Up, of.Up)}
	}
	return r
}

// ReachOfAll is a reach that follows from three numbers: the greatest sums, over all channels, of
// positive weights, of the magnitudes of negative ones, and of all magnitudes. These are what a
// certificate states (package bounds). It is hardly more than Reach.
func (s Scaled) ReachOfAll(x OperandBounds) Reach {
	if s.of.shown != nil {
		return s.Reach(x)
	}
	lo, hi := math.Max(0, -x.Lo), math.Max(0, x.Hi) // how far x may be below 0, and above
	var pos, neg, both float64                      // the greatest sums, of rounded weights: slack is half a unit for each
	for i := range s.of.greatest {
		c := &s.of.greatest[i]
		scale, slack := fixed.Pow2(s.frac), float64(float64(x.Count)*fixed.Pow2(s.exponent(c))/2)
		pos = math.Max(pos, float64(c.pos*scale)+slack)
		neg = math.Max(neg, float64(c.neg*scale)+slack)
		both = math.Max(both, float64((c.pos+c.neg)*scale)+slack)
	}
	// The greatest a'·times + b'·less with a' ≤ a, b' ≤ b and a' + b' ≤ both, if times ≥ less.
	most := func(a, times, b, less float64) float64 { return float64(a*times) + float64(math.Min(b, both-a)*less) }
	if hi >= lo {
		return Reach{most(neg, hi, pos, lo), most(pos, hi, neg, lo)}
	}
	return Reach{most(pos, lo, neg, hi), most(neg, lo, pos, hi)}
}

// Rounded returns size, a bound of the magnitudes of the scaled weights with room for rounding; most, the
// largest magnitude of the integers that they are rounded to; and whole, whether all channels keep their
// lowest bit (an exponent of 0). For secret weights, size and whole follow from what the circuit may tell.
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

// add takes in weights of a channel. Signs are as good as random, so it does not branch
// on them: x + |x| is 2x or 0, and sums of doubled numbers are the doubled sums,
// to the last bit. The magnitudes of finite numbers are in the order of their bits.
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
// weights: Lo ≤ x ≤ Hi, or x = 0 (padding), and a bound of the Euclidean norm of the
// entries that one output entry sums over (0: unknown).
type OperandBounds struct {
	Lo, Hi, Norm float64
	Count        int // how many entries an output entry sums over
}

// reach bounds Σ x·w from below and above, over the channel's weights times
// 2^frac, rounded to multiples of 2^exponent: by the entries' range, or by Cauchy
// and Schwarz where that is less. (As everywhere here, conversions keep compilers from fusing a
// product with a sum.)
func (c *channelStats) reach(frac, exponent int, x OperandBounds) Reach {
	lo, hi := math.Max(0, -x.Lo), math.Max(0, x.Hi)     // how far x may be below 0, and above
	s, half := fixed.Pow2(frac), fixed.Pow2(exponent)/2 // the most that rounding changes a weight by is half
	slack := float64(float64(x.Count) * half * math.Max(lo, hi))
	up, down := float64(c.pos*hi)+float64(c.neg*lo), float64(c.pos*lo)+float64(c.neg*hi)
	up, down = float64(up*s)+slack, float64(down*s)+slack
	if x.Norm > 0 {
		// The factor 1 + 10^−6 covers the rounding of these float operations and of the sum of squares.
		most := (float64(math.Sqrt(c.squares)*s) + float64(half*math.Sqrt(float64(x.Count)))) * x.Norm * (1 + 1e-6)
		up, down = math.Min(up, most), math.Min(down, most)
	}
	return Reach{down, up}
}

// within reports whether a channel is no larger than another one in any statistic.
func (c *channelStats) within(o *channelStats) bool {
	return c.pos <= o.pos && c.neg <= o.neg && c.max <= o.max && c.squares <= o.squares
}

// ScaledBy returns the channels with weights times 2^frac and signed mantissas of so many bits.
func (c *Channels) ScaledBy(frac, bits int) Scaled { return Scaled{c, frac, bits} }
