package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/refuse"
)

// receptive is RWKV-4 (Peng et al. 2023, https://arxiv.org/abs/2305.13048). In place of attention, each channel is a weighted mean of the
// values of all tokens so far, with weights exp(key) that decay with the distance. The graph computes it as a Softmax of keys plus decays.
type receptive struct {
	vocabulary, width, inner, feed, layers int // inner is the width of attention, and feed that inside the feed-forward part
	eps                                    float64
	halved                                 int // the reference halves the states after every so many layers (epsilon); 0: never
}

// rwkv is RWKV-4.
func rwkv(c *published) *Model {
	r := &receptive{
		vocabulary: c.Int("vocab_size", 50277), width: c.Int("hidden_size", 4096), layers: c.count("num_hidden_layers", 32),
		eps: c.Float("layer_norm_epsilon", 1e-5), halved: c.Natural("rescale_every", 6),
	}
	r.inner, r.feed = c.Int("attention_hidden_size", r.width), c.Int("intermediate_size", 4*r.width)
	tied := c.Bool("tie_word_embeddings", false)
	context := c.Int("context_length", 1024)
	src := c.source("embeddings.weight", "rwkv.", "")
	return (&Model{Context: context, Vocabulary: r.vocabulary, Layers: r.layers, Fixed: true}).writes(src, func(n *net) graph.Value {
		x := n.embed(n.several(1), "embeddings", r.vocabulary, r.width)
		x = n.layerNorm(x, "blocks.0.pre_ln", r.eps)
		for i := range r.layers {
			at, eps := fmt.Sprintf("blocks.%d.", i), r.epsilon(i)
			x = n.Add(x, r.attention(n, n.layerNorm(x, at+"ln1", eps), at+"attention."))
			x = n.Add(x, r.forward(n, n.layerNorm(x, at+"ln2", eps), at+"feed_forward."))
		}
		x = n.layerNorm(x, "ln_out", r.epsilon(r.layers))
		return n.logits(x, "head.weight", "embeddings.weight", r.vocabulary, tied)
	})
}

// epsilon is the epsilon of a layer's norms. The reference halves the states after every r.halved layers. A norm cancels that factor but
// for its epsilon; the graph does not halve the states and makes the epsilon 4 times as large instead, as the variance is.
func (r *receptive) epsilon(layer int) float64 {
	eps := r.eps
	if r.halved > 0 {
		for range layer / r.halved {
			eps *= 4
		}
	}
	return eps
}

// mixed returns x·w + last·(1 − w), where last is x at the token before (0 at the first) and w the tensor with this name.
func (r *receptive) mixed(n *net, x graph.Value, name string) graph.Value {
	n.At("", name)
	last := n.MatMul(n.band("before", func(t, s int) bool { return s == t-1 }), x)
	return n.Add(last, n.Mul(n.Sub(x, last), n.Reshape(n.weight(name, []int{1, 1, r.width}), []int{r.width})))
}

// attention is the part of a layer in place of attention ("time mixing"), for x of shape [tokens, width].
func (r *receptive) attention(n *net, x graph.Value, at string) graph.Value {
	part := func(name string) graph.Value {
		return n.linear(r.mixed(n, x, at+"time_mix_"+name), at+name, r.inner, false)
	}
	k, v, gate := part("key"), part("value"), n.Apply(graph.Sigmoid, part("receptance"))
	t := n.tokens
	n.At("", at+"attention")
	columns := func(x graph.Value, shape ...int) graph.Value {
		return n.Reshape(n.Transpose(x, []int{1, 0}), append([]int{r.inner, 1}, shape...))
	}
	scores := n.Add(columns(k, 1, t), r.decays(n, at))
	mask, _ := n.mask(attention{causal: true})
	y := n.MatMul(n.Softmax(n.Where(mask, scores, n.Number(-1e30)), 3), columns(v, t, 1))
	y = n.Transpose(n.Reshape(y, []int{r.inner, t}), []int{1, 0})
	return n.linear(n.Mul(gate, y), at+"output", r.width, false)
}

// decays returns the terms that are added to the keys, of shape [inner, 1, tokens, tokens], at [t, s]: −(t − 1 − s)·exp(time_decay) for an
// earlier token s, which is 0 for the one just before t, and time_first for token t itself.
func (r *receptive) decays(n *net, at string) graph.Value {
	return n.once(at+"decays", func() *graph.Tensor {
		rate, first := n.src.load(n.src.prefix+at+"time_decay", []int{r.inner}), n.src.load(n.src.prefix+at+"time_first", []int{r.inner})
		t := n.tokens
		if !n.Room(r.inner, t, t) {
			refuse.With("decays of %d numbers for %d tokens are too many", r.inner, t)
		}
		v := make([]float32, r.inner*t*t)
		for c := range r.inner {
			w := elementary.Exp(float64(rate.Floats()[c]))
			for i := range t {
				row := v[(c*t+i)*t:][:t]
				for s := range i {
					row[s] = -float32(float64(i-1-s) * w)
				}
				row[i] = first.Floats()[c]
			}
		}
		return &graph.Tensor{Shape: []int{r.inner, 1, t, t}, DType: graph.Float, F32: v}
	})
}

// forward is the feed-forward part of a layer ("channel mixing").
func (r *receptive) forward(n *net, x graph.Value, at string) graph.Value {
	y := n.activate(activations["relu2"], n.linear(r.mixed(n, x, at+"time_mix_key"), at+"key", r.feed, false))
	gate := n.Apply(graph.Sigmoid, n.linear(r.mixed(n, x, at+"time_mix_receptance"), at+"receptance", r.width, false))
	return n.Mul(gate, n.linear(y, at+"value", r.width, false))
}
