package families

import "github.com/prove-model/prove-model/graph"

// neoX is GPT-NeoX and Pythia. It has LayerNorm and rotary positions in a part of each head.
// Attention and feed-forward part are parallel unless use_parallel_residual is false.
func neoX(c *published) *Model {
	vocabulary, width, layers, heads := c.Int("vocab_size", 0), c.Int("hidden_size", 0), c.count("num_hidden_layers", 0), c.Int("num_attention_heads", 0)
	context, inner := c.Int("max_position_embeddings", 2048), c.Int("intermediate_size", 0)
	eps := c.Float("layer_norm_eps", 1e-5)
	act := activationOf(c, "hidden_act", "gelu")
	tied, parallel, bias := c.Bool("tie_word_embeddings", false), c.Bool("use_parallel_residual", true), c.Bool("attention_bias", true)
	dim := width / heads
	theta := c.Float("rotary_emb_base", 10000)
	part := c.Float("rotary_pct", 0.25)
	var r *rope
	if p := c.Sub("rope_parameters"); p != nil {
		part = p.Float("partial_rotary_factor", part)
		r = scaledRope(c, "rope", p, int(float64(dim)*part), context, p.Float("rope_theta", theta))
	} else {
		r = scaledRope(c, "rope", c.Sub("rope_scaling"), int(float64(dim)*part), context, theta)
	}
	c.Ignore("rope_theta", "partial_rotary_factor", "is_decoder")
	src := c.source("embed_in.weight", "gpt_neox.", "")
	return (&Model{Context: context, Vocabulary: vocabulary, Layers: layers}).writes(src, func(n *net) graph.Value {
		x := n.embed(n.ids(), "embed_in", vocabulary, width)
		a := attention{heads: heads, groups: heads, dim: dim, scale: scaleOf(dim), causal: true, rope: r}
		for i := range layers {
			at := layer(i, "")
			all := n.linear(n.layerNorm(x, at+"input_layernorm", eps), at+"attention.query_key_value", 3*width, bias)
			q, k, v := n.headwise(all, heads, dim)
			a.name = at + "attention.attention"
			y := n.linear(n.attend(a, q, k, v), at+"attention.dense", width, bias)
			feed := func(x graph.Value) graph.Value {
				z := n.linear(n.layerNorm(x, at+"post_attention_layernorm", eps), at+"mlp.dense_h_to_4h", inner, true)
				return n.linear(n.activate(act, z), at+"mlp.dense_4h_to_h", width, true)
			}
			if parallel {
				x = n.Add(x, n.Add(y, feed(x)))
			} else {
				x = n.Add(x, y)
				x = n.Add(x, feed(x))
			}
		}
		x = n.layerNorm(x, "final_layer_norm", eps)
		return n.logits(x, "embed_out.weight", "embed_in.weight", vocabulary, tied)
	}, "rotary_emb.inv_freq", ".attention.bias", ".attention.masked_bias")
}
