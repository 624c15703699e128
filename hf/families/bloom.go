package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// bloom is BLOOM. It has ALiBi in place of position embeddings, and a norm of the token embeddings.
func bloom(c *published) *Model {
	vocabulary, layers, heads := c.Int("vocab_size", 0), c.count("n_layer", c.Int("num_hidden_layers", 24)), c.Int("n_head", c.Int("num_attention_heads", 16))
	width := c.Int("hidden_size", c.Int("n_embed", 1024))
	context := c.Int("seq_length", 2048) // ALiBi itself would work at any length
	eps := c.Float("layer_norm_epsilon", 1e-5)
	tied, normed := c.Bool("tie_word_embeddings", true), c.Bool("apply_residual_connection_post_layernorm", false)
	c.Ignore("slow_but_exact", "offset_alibi", "skip_bias_add", "skip_bias_add_qkv", "masked_softmax_fusion", "attention_softmax_in_fp32", "bias_dropout_fusion", "n_inner")
	act := activations["gelu_new"]
	src := c.source("word_embeddings.weight", "transformer.", "")
	dim, slopes := width/heads, src.alibi(c, heads, "word_embeddings.weight")
	return (&Model{Context: context, Vocabulary: vocabulary, Layers: layers}).writes(src, func(n *net) graph.Value {
		x := n.layerNorm(n.embed(n.ids(), "word_embeddings", vocabulary, width), "word_embeddings_layernorm", eps)
		a := attention{heads: heads, groups: heads, dim: dim, scale: scaleOf(dim), causal: true,
			bias: func(head, position int) float64 { return slopes[head] * float64(position) }}
		for i := range layers {
			at := fmt.Sprintf("h.%d.", i)
			// add returns x + f(norm of x), or, if the residual is taken behind the norm, the norm of x + f(norm of x).
			add := func(x graph.Value, norm string, f func(graph.Value) graph.Value) graph.Value {
				y := n.layerNorm(x, at+norm, eps)
				if normed {
					x = y
				}
				return n.Add(x, f(y))
			}
			x = add(x, "input_layernorm", func(y graph.Value) graph.Value {
				a.name = at + "self_attention.attention"
				q, k, v := n.headwise(n.linear(y, at+"self_attention.query_key_value", 3*width, true), heads, dim)
				return n.linear(n.attend(a, q, k, v), at+"self_attention.dense", width, true)
			})
			x = add(x, "post_attention_layernorm", func(y graph.Value) graph.Value {
				return n.linear(n.activate(act, n.linear(y, at+"mlp.dense_h_to_4h", 4*width, true)), at+"mlp.dense_4h_to_h", width, true)
			})
		}
		x = n.layerNorm(x, "ln_f", eps)
		return n.logits(x, "lm_head.weight", "word_embeddings.weight", vocabulary, tied)
	})
}

// headwise splits x, of shape [tokens, heads·3·dim], into queries, keys and values, of shape [tokens, heads·dim] each. In x the query, the
// key and the value of a head are next to each other.
func (n *net) headwise(x graph.Value, heads, dim int) (q, k, v graph.Value) {
	x = n.Reshape(x, []int{n.tokens, heads, 3 * dim})
	own := func(which int) graph.Value {
		return n.Reshape(n.SliceAxis(x, 2, which*dim, 1, dim), []int{n.tokens, heads * dim})
	}
	return own(0), own(1), own(2)
}
