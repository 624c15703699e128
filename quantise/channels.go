package quantise

import (
	"math"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/internal/parallel"
)

// channels are the statistics of all output channels of weights. Models have tens of
// thousands of them for each matrix, and passes ask the same of them again and again: so
// answers are kept.
type channels struct {
	list      []channelStats
	most, sum float64 // the largest weight, and the largest sum of a channel's magnitudes
	median    float64 // of the channels' largest weights, of those that are not 0; 0: not known yet
	scaled    map[weightScale]*scaledChannels
}

// weightScale is the scale of weights, and the bits of their mantissas.
type weightScale struct{ frac, bits int }

// scaledChannels are channels whose weights are times 2^frac.
type scaledChannels struct {
	of *channels
	weightScale
	reaches, all map[operandBounds]twoReaches // of the channel that reaches farthest; of all together
	rounding     *rounding                    // nil: not known yet
}

type twoReaches struct{ down, up float64 }

// rounding is how scaled weights become integers.
type rounding struct {
	exponents []int   // the number of low bits that are zero, by channel
	size      float64 // what no weight is beyond
	most      int64   // the largest magnitude
	whole     bool    // all exponents are 0
}

func newChannels(list []channelStats) *channels {
	c := &channels{list: list, scaled: map[weightScale]*scaledChannels{}}
	for i := range list {
		c.most = math.Max(c.most, list[i].max)
		c.sum = math.Max(c.sum, list[i].pos+list[i].neg)
	}
	return c
}

// medianOf is the median of the channels' largest weights, of those that are not 0. There
// is one.
func (c *channels) medianOf() float64 {
	if c.median == 0 {
		var list []float64
		for i := range c.list {
			if c.list[i].max > 0 {
				list = append(list, c.list[i].max)
			}
		}
		slices.Sort(list)
		c.median = list[len(list)/2]
	}
	return c.median
}

// scaledBy are the channels with weights times 2^frac.
func (l *lowering) scaledBy(c *channels, frac int) *scaledChannels {
	scale := weightScale{frac, l.opts.WeightBits}
	s := c.scaled[scale]
	if s == nil {
		s = &scaledChannels{of: c, weightScale: scale, reaches: map[operandBounds]twoReaches{}, all: map[operandBounds]twoReaches{}}
		c.scaled[scale] = s
	}
	return s
}

// exponent is the number of low bits of a channel's weights that are zero.
func (s weightScale) exponent(c *channelStats) int {
	if c.max == 0 {
		return 0
	}
	return max(0, floorLog2(c.max*pow2(s.frac))+2-s.bits)
}

// reach is the greatest reach of a channel.
func (s *scaledChannels) reach(x operandBounds) (down, up float64) {
	r, ok := s.reaches[x]
	if !ok {
		var mu sync.Mutex
		parallel.For(len(s.of.list), 1<<9, func(lo, hi int) {
			var part twoReaches
			for i := range s.of.list[lo:hi] {
				c := &s.of.list[lo+i]
				d, u := c.reach(s.frac, s.exponent(c), x)
				part = twoReaches{math.Max(part.down, d), math.Max(part.up, u)}
			}
			mu.Lock()
			defer mu.Unlock()
			r = twoReaches{math.Max(r.down, part.down), math.Max(r.up, part.up)}
		})
		s.reaches[x] = r
	}
	return r.down, r.up
}

// bound is the larger of the two.
func (s *scaledChannels) bound(x operandBounds) float64 { return math.Max(s.reach(x)) }

// reachOfAll is reach for the greatest sums of all channels.
func (s *scaledChannels) reachOfAll(x operandBounds) (down, up float64) {
	r, ok := s.all[x]
	if !ok {
		r.down, r.up = reachOfAll(s.of.list, s.frac, s.rounded().exponents, x)
		s.all[x] = r
	}
	return r.down, r.up
}

// rounded is how the weights become integers.
func (s *scaledChannels) rounded() *rounding {
	if s.rounding == nil {
		r := &rounding{exponents: make([]int, len(s.of.list)), whole: true}
		for i := range s.of.list {
			c := &s.of.list[i]
			e := s.exponent(c)
			r.exponents[i], r.whole = e, r.whole && e == 0
			r.size = math.Max(r.size, float64(c.max*pow2(s.frac))+pow2(e))
			r.most = max(r.most, roundedTo(c.max, s.frac, e))
		}
		s.rounding = r
	}
	return s.rounding
}
