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
	// factor scales the tables, as some ways to lengthen the context do.
	factor float64
	most   int // positions that the encoding is for, if not 0
}

// newRope is the usual encoding of dim elements.
func newRope(name string, dim int, theta float64) *rope {
	r := &rope{name: name, factor: 1}
	for i := 0; i < dim/2; i++ {
		r.freq = append(r.freq, 1/elementary.Pow(theta, float64(2*i)/float64(dim)))
	}
	return r
}

// ropeOf reads the rotary encoding of heads of dim elements: from rope_parameters,
// which new files have, or from rope_theta and rope_scaling. most is the context.
func ropeOf(c *config.Config, dim, most int, theta float64) *rope {
	p := c.Sub("rope_parameters")
	scaling := p
	if p == nil {
		p, scaling = c, c.Sub("rope_scaling")
	} else {
		c.Ignore("rope_theta", "rope_scaling", "partial_rotary_factor")
	}
	theta = p.Float("rope_theta", theta)
	dim = int(float64(dim) * p.Float("partial_rotary_factor", 1))
	return scaledRope(c, "rope", scaling, dim, most, theta)
}

// mostTurned is the most elements of a head; published models have some hundreds.
const mostTurned = 1 << 14

// scaledRope is the encoding with base theta, extended to longer texts as scaling says.
func scaledRope(c *config.Config, name string, scaling *config.Config, dim, most int, theta float64) *rope {
	if dim < 2 || dim > mostTurned || dim%2 != 0 || !(theta > 0) {
		c.Failf("a rotary encoding of %d elements with base %v", dim, theta)
		return &rope{name: name}
	}
	r := newRope(name, dim, theta)
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
	default:
		c.Failf("rotary encodings of type %s are not supported; understood: default, linear, llama3, longrope", graph.Quote(kind))
	}
	return r
}

// llama3 divides low frequencies by a factor, and medium ones by less.
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

// long divides each frequency by a factor from one of two lists, one for texts within the
// original context and one for longer texts. A key is for texts of any length up to the
// context, so this model always uses the list for short texts, and has the original
// context.
func (r *rope) long(c, s *config.Config, most int) {
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

// turn applies the encoding to x of shape [tokens, heads, dim], and scales it.
func (n *net) turn(r *rope, x graph.Value, scale float64) graph.Value {
	if !n.Valid(x) {
		return x
	}
	dim, half := n.Shape(x)[2], len(r.freq)
	swap := make([]int, dim)
	for i := range swap {
		switch {
		case i < half:
			swap[i] = i + half
		case i < 2*half:
			swap[i] = i - half
		default:
			swap[i] = i
		}
	}
	c, s := n.turns(r, dim, scale)
	return n.Add(n.Mul(x, c), n.Mul(n.Gather(x, 2, swap), s))
}

// turns returns the tables of cosines and sines, times scale, of shape [tokens, 1, dim].
func (n *net) turns(r *rope, dim int, scale float64) (c, s graph.Value) {
	suffix := fmt.Sprintf("/%v", scale)
	if c, ok := n.consts[r.name+"/cos"+suffix]; ok {
		return c, n.consts[r.name+"/sin"+suffix]
	}
	half := len(r.freq)
	cos, sin := make([]float32, n.tokens*dim), make([]float32, n.tokens*dim)
	for t := range n.tokens {
		for i := range dim {
			at := t*dim + i
			if i >= 2*half { // the rest stays
				cos[at] = float32(scale)
				continue
			}
			angle := float64(t) * r.freq[i%half]
			cos[at] = float32(elementary.Cos(angle) * r.factor * scale)
			sin[at] = float32(elementary.Sin(angle) * r.factor * scale)
			if i < half {
				sin[at] = -sin[at]
			}
		}
	}
	shape := []int{n.tokens, 1, dim}
	return n.table(r.name+"/cos"+suffix, shape, cos), n.table(r.name+"/sin"+suffix, slices.Clone(shape), sin)
}
