package families

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/internal/elementary"
)

// rope is a rotary encoding of positions: elements i and i + len(freq) of a head are
// rotated as a pair by the angle position·freq[i], for i < len(freq).
type rope struct {
	name string // of its tables
	freq []float64
	// neighbours makes pairs of elements 2i and 2i + 1 instead.
	neighbours bool
	// factor multiplies the cosines and sines, as some ways to lengthen the context do.
	factor float64
	most   int // the most positions that the encoding is for; 0: no bound but the context
	// further is a factor of queries and keys, in addition to factor, that DeepSeek has in a lengthened context; 0: none.
	further float64
}

// ropeOf reads the rotary encoding of heads of dim elements, from rope_parameters, which new
// files have, or from rope_theta and rope_scaling. most is the context, and theta the default of the base.
func ropeOf(c *published, dim, most int, theta float64) *rope {
	p := c.Sub("rope_parameters")
	scaling := p
	if p == nil {
		p, scaling = c.Config, c.Sub("rope_scaling")
	} else {
		c.Ignore("rope_theta", "rope_scaling", "partial_rotary_factor")
	}
	theta = p.Float("rope_theta", theta)
	dim = int(float64(dim) * p.Float("partial_rotary_factor", 1))
	return scaledRope(c, "rope", scaling, dim, most, theta)
}

// mostTurned is the most elements of a head that are turned; published models have some hundreds.
const mostTurned = 1 << 14

// scaledRope is the rotary encoding of dim elements with base theta. scaling, if not nil, says how it is extended to longer texts; most is
// the context.
func scaledRope(c *published, name string, scaling *config.Config, dim, most int, theta float64) *rope {
	if dim < 2 || dim > mostTurned || dim%2 != 0 || !(theta > 0) {
		c.Failf("a rotary encoding of %d elements with base %v", dim, theta)
		return &rope{name: name}
	}
	r := &rope{name: name, factor: 1, freq: filled(dim/2, func(i int) float64 {
		return 1 / elementary.Pow(theta, float64(2*i)/float64(dim))
	})}
	if scaling == nil {
		return r
	}
	kind := scaling.Text("rope_type", scaling.Text("type", "default"))
	scaling.Ignore("type", "rope_theta", "partial_rotary_factor")
	switch kind {
	case "default":
		scaling.Ignore("factor")
	case "linear":
		factor := scaling.Float("factor", 1)
		for i := range r.freq {
			r.freq[i] /= factor
		}
	case "llama3":
		r.llama3(scaling)
	case "longrope":
		r.long(c, scaling, most)
	case "yarn":
		r.yarn(c, scaling, dim, most, theta)
	case "dynamic": // changes only texts that are longer than the context
		scaling.Ignore("factor", "original_max_position_embeddings")
	default:
		c.Failf("rotary encodings of type %s are not supported; understood: default, dynamic, linear, llama3, longrope, yarn", graph.Quote(kind))
	}
	return r
}

// llama3 divides frequencies that make less than low_freq_factor turns in the original context by a factor, leaves those that make
// more than high_freq_factor, and interpolates in between.
func (r *rope) llama3(s *config.Config) {
	factor, low, high := s.Float("factor", 8), s.Float("low_freq_factor", 1), s.Float("high_freq_factor", 4)
	context := s.Float("original_max_position_embeddings", 8192)
	for i, f := range r.freq {
		turns := context * f / (2 * math.Pi) // in the original context
		switch {
		case turns > high:
		case turns < low:
			r.freq[i] = f / factor
		default:
			smooth := (turns - low) / (high - low)
			r.freq[i] = float64((1-smooth)*f/factor) + float64(smooth*f)
		}
	}
}

// yarn divides frequencies that make less than beta_slow turns in the original context by a
// factor, leaves those that make more than beta_fast, and interpolates linearly in between
// (Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.2). It also sets the factors of the tables.
func (r *rope) yarn(c *published, s *config.Config, dim, most int, theta float64) {
	original := s.Float("original_max_position_embeddings", float64(c.Int("original_max_position_embeddings", most)))
	factor := s.Float("factor", float64(most)/original)
	// at is the index, not rounded, of the frequency that makes so many turns in the original context.
	at := func(turns float64) float64 {
		return float64(dim) * elementary.Log(original/(turns*2*math.Pi)) / (2 * elementary.Log(theta))
	}
	from, to := at(s.Float("beta_fast", 32)), at(s.Float("beta_slow", 1))
	if s.Bool("truncate", true) {
		from, to = math.Floor(from), math.Ceil(to)
	}
	from, to = max(from, 0), min(to, float64(dim-1))
	if from == to {
		to += 0.001
	}
	for i, f := range r.freq {
		slow := min(max((float64(i)-from)/(to-from), 0), 1)
		r.freq[i] = float64(slow*f/factor) + float64((1-slow)*f)
	}
	more := func(scale float64) float64 {
		if factor <= 1 {
			return 1
		}
		return float64(0.1*scale*elementary.Log(factor)) + 1
	}
	r.factor = more(1)
	scale, all := s.Float("mscale", 0), s.Float("mscale_all_dim", 0)
	if all != 0 {
		r.further = more(all)
	}
	if scale != 0 && all != 0 {
		r.factor = more(scale) / more(all)
	}
	r.factor = s.Float("attention_factor", r.factor)
}

// ropes reads the rotary encodings of layers with a window and of other layers. New files have both in rope_parameters, by
// the kind of layer. Older files have the two bases in fields of their own; local and global are the defaults of these.
func ropes(c *published, dim, most int, localBase, globalBase string, local, global float64) (windowed, whole *rope) {
	p := c.Sub("rope_parameters")
	if p == nil {
		scaling := c.Sub("rope_scaling")
		return scaledRope(c, "rope/local", nil, dim, most, c.Float(localBase, local)), scaledRope(c, "rope", scaling, dim, most, c.Float(globalBase, global))
	}
	read := func(name, kind string, theta float64) *rope {
		s := p.Sub(kind)
		if s == nil {
			c.Failf("field \"rope_parameters\" has no %s", graph.Quote(kind))
			return nil
		}
		return scaledRope(c, name, s, dim, most, s.Float("rope_theta", theta))
	}
	c.Ignore(localBase, globalBase, "rope_scaling")
	return read("rope/local", "sliding_attention", local), read("rope", "full_attention", global)
}

// long divides each frequency by a factor from one of two lists, one for texts within the
// original context and one for longer texts. A key is for texts of any length up to the
// context, so this model always uses the list for short texts, and has the original
// context.
func (r *rope) long(c *published, s *config.Config, most int) {
	short := s.Numbers("short_factor")
	s.Ignore("long_factor", "factor")
	original := int(s.Float("original_max_position_embeddings", float64(c.Int("original_max_position_embeddings", most))))
	if len(short) != len(r.freq) {
		c.Failf("%d factors of %d frequencies", len(short), len(r.freq))
		return
	}
	for i, f := range short {
		if !(f > 0) {
			c.Failf("a frequency is divided by %v", f)
		}
		r.freq[i] /= f
	}
	r.most = original
	ratio := float64(most) / float64(original)
	if ratio > 1 {
		r.factor = math.Sqrt(1 + elementary.Log(ratio)/elementary.Log(float64(original)))
	}
	r.factor = s.Float("attention_factor", r.factor)
}

// pair returns the number of the rotary pair that element i of a head is in, the index of the other
// element, and whether i is the first of the two; ok is false for elements that are not turned.
func (r *rope) pair(i int) (number, other int, first, ok bool) {
	half := len(r.freq)
	switch {
	case i >= 2*half:
		return 0, 0, false, false
	case r.neighbours:
		return i / 2, i ^ 1, i%2 == 0, true
	case i < half:
		return i, i + half, true, true
	}
	return i - half, i - half, false, true
}

// turn applies the encoding to x, of shape [tokens, heads, dim], and multiplies it by scale. Element i becomes cos·x[i] ∓ sin·x[other]:
// minus for the first element of a pair and plus for the second. The table of sines has this sign.
func (n *net) turn(r *rope, x graph.Value, scale float64) graph.Value {
	if !n.Valid(x) {
		return x
	}
	dim := n.Shape(x)[2]
	swap := filled(dim, func(i int) int {
		if _, other, _, ok := r.pair(i); ok {
			return other
		}
		return i
	})
	c, s := n.turns(r, dim, scale)
	return n.Add(n.Mul(x, c), n.Mul(n.Gather(x, 2, swap), s))
}

// turns returns the tables of cosines and sines, times r.factor and scale, of shape [tokens, 1, dim]. The sines of the first elements of
// pairs are negated. The tables are made once for each scale.
func (n *net) turns(r *rope, dim int, scale float64) (c, s graph.Value) {
	suffix := fmt.Sprintf("/%v", scale)
	if c, ok := n.consts[r.name+"/cos"+suffix]; ok {
		return c, n.consts[r.name+"/sin"+suffix]
	}
	cos, sin := make([]float32, n.tokens*dim), make([]float32, n.tokens*dim)
	for t := range n.tokens {
		for i := range dim {
			at := t*dim + i
			number, _, first, ok := r.pair(i)
			if !ok { // elements without a pair are only scaled
				cos[at] = float32(scale)
				continue
			}
			angle := float64(t) * r.freq[number]
			cos[at] = float32(elementary.Cos(angle) * r.factor * scale)
			sin[at] = float32(elementary.Sin(angle) * r.factor * scale)
			if first {
				sin[at] = -sin[at]
			}
		}
	}
	shape := []int{n.tokens, 1, dim}
	return n.table(r.name+"/cos"+suffix, shape, cos, true), n.table(r.name+"/sin"+suffix, slices.Clone(shape), sin, true)
}
