package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// gpt2 is GPT-2. It has position embeddings, LayerNorm, and matrices of shape [inputs, outputs].
func gpt2(c *published) *Model {
	vocabulary, width, layers, heads := c.Int("vocab_size", 0), c.Int("n_embd", 0), c.count("n_layer", 0), c.Int("n_head", 0)
	context := c.Int("n_positions", 1024)
	inner := c.Int("n_inner", 4*width)
	eps := c.Float("layer_norm_epsilon", 1e-5)
	act := activationOf(c, "activation_function", "gelu_new")
	tied := c.Bool("tie_word_embeddings", true)
	scaled, byLayer := c.Bool("scale_attn_weights", true), c.Bool("scale_attn_by_inverse_layer_idx", false)
	c.Is("add_cross_attention", false)
	c.Ignore("reorder_and_upcast_attn", "n_ctx")
	src := c.source("wte.weight", "transformer.", "")
	return (&Model{Context: context, Vocabulary: vocabulary, Layers: layers}).writes(src, func(n *net) graph.Value {
		x := n.Add(n.embed(n.ids(), "wte", vocabulary, width), n.positions("wpe", context, width, 0))
		for i := range layers {
			at := fmt.Sprintf("h.%d.", i)
			scale := 1.0
			if scaled {
				scale = scaleOf(width / heads)
			}
			if byLayer {
				scale /= float64(i + 1)
			}
			a := attention{name: at + "attn.attention", heads: heads, groups: heads, dim: width / heads, scale: scale, causal: true}
			all := n.conv1D(n.layerNorm(x, at+"ln_1", eps), at+"attn.c_attn", 3*width)
			y := n.attend(a, n.columns(all, 0, width), n.columns(all, width, width), n.columns(all, 2*width, width))
			x = n.Add(x, n.conv1D(y, at+"attn.c_proj", width))
			y = n.conv1D(n.layerNorm(x, at+"ln_2", eps), at+"mlp.c_fc", inner)
			x = n.Add(x, n.conv1D(n.activate(act, y), at+"mlp.c_proj", width))
		}
		x = n.layerNorm(x, "ln_f", eps)
		return n.logits(x, "lm_head.weight", "wte.weight", vocabulary, tied)
	}, ".attn.bias", ".attn.masked_bias") // masks
}
