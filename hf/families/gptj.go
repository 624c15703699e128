package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// gptJ is GPT-J. Rotary positions turn pairs of neighbouring elements, in a part of each head. Attention
// and feed-forward part are parallel.
func gptJ(c *published) *Model {
	vocabulary, width, layers, heads := c.Int("vocab_size", 0), c.Int("n_embd", 0), c.count("n_layer", 0), c.Int("n_head", 0)
	context, inner := c.Int("n_positions", 2048), c.Int("n_inner", 4*width)
	eps := c.Float("layer_norm_epsilon", 1e-5)
	act := activationOf(c, "activation_function", "gelu_new")
	tied := c.Bool("tie_word_embeddings", false)
	r := scaledRope(c, "rope", nil, c.Int("rotary_dim", 64), context, 10000)
	r.neighbours = true
	c.Is("rotary", true)
	c.Is("scale_attn_weights", true)
	c.Ignore("n_ctx")
	dim := width / heads
	src := c.source("wte.weight", "transformer.", "")
	return (&Model{Context: context, Vocabulary: vocabulary, Layers: layers}).writes(src, func(n *net) graph.Value {
		x := n.embed(n.ids(), "wte", vocabulary, width)
		a := attention{heads: heads, groups: heads, dim: dim, scale: scaleOf(dim), causal: true, rope: r}
		for i := range layers {
			at := fmt.Sprintf("h.%d.", i)
			a.name = at + "attn.attention"
			y := n.layerNorm(x, at+"ln_1", eps)
			q, k, v := n.linear(y, at+"attn.q_proj", width, false), n.linear(y, at+"attn.k_proj", width, false), n.linear(y, at+"attn.v_proj", width, false)
			z := n.linear(n.activate(act, n.linear(y, at+"mlp.fc_in", inner, true)), at+"mlp.fc_out", width, true)
			x = n.Add(x, n.Add(n.linear(n.attend(a, q, k, v), at+"attn.out_proj", width, false), z))
		}
		x = n.logits(n.layerNorm(x, "ln_f", eps), "lm_head.weight", "wte.weight", vocabulary, tied)
		return n.Add(x, n.absolute("lm_head.bias", []int{vocabulary}))
	}, ".attn.bias", ".attn.masked_bias", "embed_positions")
}
