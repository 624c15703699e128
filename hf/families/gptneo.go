package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// gptNeo is GPT-Neo. It is like GPT-2, but its scores are not scaled, and the layers that
// attention_layers calls local have a window.
func gptNeo(c *published) *Model {
	vocabulary, width, layers, heads := c.Int("vocab_size", 0), c.Int("hidden_size", 0), c.count("num_layers", 0), c.Int("num_heads", 0)
	context, inner := c.Int("max_position_embeddings", 2048), c.Int("intermediate_size", 4*width)
	eps := c.Float("layer_norm_epsilon", 1e-5)
	act := activationOf(c, "activation_function", "gelu_new")
	tied, window, kinds := c.Bool("tie_word_embeddings", true), c.Int("window_size", 256), c.Texts("attention_layers")
	c.Ignore("attention_types", "embed_dropout", "attention_dropout") // attention_types says the same as attention_layers
	if len(kinds) < layers {
		c.Failf("field \"attention_layers\" has %d entries for %d layers", len(kinds), layers)
	}
	for _, s := range kinds {
		if s != "global" && s != "local" {
			c.Failf("field \"attention_layers\" has %s; understood: global, local", graph.Quote(s))
		}
	}
	src := c.source("wte.weight", "transformer.", "")
	return (&Model{Context: context, Vocabulary: vocabulary, Layers: layers}).writes(src, func(n *net) graph.Value {
		x := n.Add(n.embed(n.ids(), "wte", vocabulary, width), n.positions("wpe", context, width, 0))
		for i := range layers {
			at := fmt.Sprintf("h.%d.", i)
			own := at + "attn.attention."
			a := attention{name: own + "attention", heads: heads, groups: heads, dim: width / heads, scale: 1, causal: true}
			if kinds[i] == "local" {
				a.window = window
			}
			y := n.layerNorm(x, at+"ln_1", eps)
			q, k, v := n.linear(y, own+"q_proj", width, false), n.linear(y, own+"k_proj", width, false), n.linear(y, own+"v_proj", width, false)
			x = n.Add(x, n.linear(n.attend(a, q, k, v), own+"out_proj", width, true))
			y = n.linear(n.layerNorm(x, at+"ln_2", eps), at+"mlp.c_fc", inner, true)
			x = n.Add(x, n.linear(n.activate(act, y), at+"mlp.c_proj", width, true))
		}
		x = n.layerNorm(x, "ln_f", eps)
		return n.logits(x, "lm_head.weight", "wte.weight", vocabulary, tied)
	}, ".attn.attention.bias", ".attn.attention.masked_bias") // masks
}
