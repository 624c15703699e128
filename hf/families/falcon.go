package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// falcon is Falcon of 2023. The heads, or groups of them, share one key and value. Positions are
// rotary or ALiBi. Attention and feed-forward part are parallel by default.
func falcon(c *published) *Model {
	vocabulary, width, layers, heads := c.Int("vocab_size", 0), c.Int("hidden_size", 0), c.count("num_hidden_layers", 0), c.Int("num_attention_heads", 0)
	context, inner := c.Int("max_position_embeddings", 2048), c.Int("ffn_hidden_size", 4*width)
	eps, bias := c.Float("layer_norm_epsilon", 1e-5), c.Bool("bias", false)
	act := activationOf(c, "activation", "gelu")
	grouped, single, parallel := c.Bool("new_decoder_architecture", false), c.Bool("multi_query", true), c.Bool("parallel_attn", true)
	tied := c.Bool("tie_word_embeddings", true)
	if grouped {
		parallel = true
	}
	groups := c.Int("num_kv_heads", heads)
	if !grouped {
		groups = heads
		if single {
			groups = 1
		}
	}
	norms := int(c.Float("num_ln_in_parallel_attn", 0))
	if norms == 0 {
		norms = 1
		if grouped {
			norms = 2
		}
	}
	dim := width / heads
	src := c.source("word_embeddings.weight", "transformer.", "")
	a := attention{heads: heads, groups: groups, dim: dim, scale: scaleOf(dim), causal: true}
	if c.Bool("alibi", false) {
		slopes := src.alibi(c, heads, "word_embeddings.weight")
		a.bias = func(head, position int) float64 { // the published code computes the product in bfloat16, and scales it as the scores
			return toBFloat16(toBFloat16(slopes[head])*float64(position)) * a.scale
		}
		c.Ignore("rope_parameters", "rope_theta", "rope_scaling")
	} else {
		a.rope = ropeOf(c, dim, context, 10000)
	}
	if heads%groups != 0 {
		c.Failf("%d heads do not share %d keys evenly", heads, groups)
	}
	return (&Model{Context: context, Vocabulary: vocabulary, Layers: layers}).writes(src, func(n *net) graph.Value {
		x := n.embed(n.ids(), "word_embeddings", vocabulary, width)
		a := a
		for i := range layers {
			at := fmt.Sprintf("h.%d.", i)
			a.name = at + "self_attention.attention"
			attend := func(x graph.Value) graph.Value {
				share := heads / groups
				// In a row, the queries of a group are followed by the group's key and value.
				all := n.linear(x, at+"self_attention.query_key_value", (heads+2*groups)*dim, bias)
				all = n.Reshape(all, []int{n.tokens, groups, (share + 2) * dim})
				q := n.Reshape(n.SliceAxis(all, 2, 0, 1, share*dim), []int{n.tokens, width})
				k := n.Reshape(n.SliceAxis(all, 2, share*dim, 1, dim), []int{n.tokens, groups * dim})
				v := n.Reshape(n.SliceAxis(all, 2, (share+1)*dim, 1, dim), []int{n.tokens, groups * dim})
				return n.linear(n.attend(a, q, k, v), at+"self_attention.dense", width, bias)
			}
			feed := func(x graph.Value) graph.Value {
				return n.linear(n.activate(act, n.linear(x, at+"mlp.dense_h_to_4h", inner, bias)), at+"mlp.dense_4h_to_h", width, bias)
			}
			switch {
			case !parallel:
				x = n.Add(x, attend(n.layerNorm(x, at+"input_layernorm", eps)))
				x = n.Add(x, feed(n.layerNorm(x, at+"post_attention_layernorm", eps)))
			case norms == 2:
				x = n.Add(x, n.Add(attend(n.layerNorm(x, at+"ln_attn", eps)), feed(n.layerNorm(x, at+"ln_mlp", eps))))
			default:
				y := n.layerNorm(x, at+"input_layernorm", eps)
				x = n.Add(x, n.Add(attend(y), feed(y)))
			}
		}
		x = n.layerNorm(x, "ln_f", eps)
		return n.logits(x, "lm_head.weight", "word_embeddings.weight", vocabulary, tied)
	})
}
