package families

import "github.com/prove-model/prove-model/graph"

// opt is OPT. It has learned positions, of which the first two rows are not used. Some of its models
// have the norms behind attention and feed-forward part, or embeddings of fewer columns than the width.
func opt(c *published) *Model {
	vocabulary, width, layers, heads := c.Int("vocab_size", 0), c.Int("hidden_size", 0), c.count("num_hidden_layers", 0), c.Int("num_attention_heads", 0)
	context, inner := c.Int("max_position_embeddings", 2048), c.Int("ffn_dim", 0)
	narrow := c.Int("word_embed_proj_dim", width)
	act := activationOf(c, "activation_function", "relu")
	bias, before, affine := c.Bool("enable_bias", true), c.Bool("do_layer_norm_before", true), c.Bool("layer_norm_elementwise_affine", true)
	last := !c.Bool("_remove_final_layer_norm", false) && before
	tied := c.Bool("tie_word_embeddings", true)
	c.Ignore("layerdrop", "init_std")
	kind := fullNorm
	if !affine {
		kind = bareNorm
	}
	src := c.source("embed_tokens.weight", "model.decoder.", "decoder.", "")
	return (&Model{Context: context, Vocabulary: vocabulary, Layers: layers}).writes(src, func(n *net) graph.Value {
		norm := func(x graph.Value, name string) graph.Value { return n.normalise(kind, x, name, 1e-5, false) }
		x := n.embed(n.ids(), "embed_tokens", vocabulary, narrow)
		if narrow != width {
			x = n.linear(x, "project_in", width, false)
		}
		x = n.Add(x, n.positions("embed_positions", context+2, width, 2))
		a := attention{heads: heads, groups: heads, dim: width / heads, scale: scaleOf(width / heads), causal: true}
		part := func(x graph.Value, name string, f func(graph.Value) graph.Value) graph.Value {
			if before {
				return n.Add(x, f(norm(x, name)))
			}
			return norm(n.Add(x, f(x)), name)
		}
		for i := range layers {
			at := layer(i, "self_attn.")
			a.name = at + "attention"
			x = part(x, layer(i, "self_attn_layer_norm"), func(x graph.Value) graph.Value {
				q, k, v := n.linear(x, at+"q_proj", width, bias), n.linear(x, at+"k_proj", width, bias), n.linear(x, at+"v_proj", width, bias)
				return n.linear(n.attend(a, q, k, v), at+"out_proj", width, bias)
			})
			x = part(x, layer(i, "final_layer_norm"), func(x graph.Value) graph.Value {
				return n.linear(n.activate(act, n.linear(x, layer(i, "fc1"), inner, bias)), layer(i, "fc2"), width, bias)
			})
		}
		if last {
			x = norm(x, "final_layer_norm")
		}
		if narrow != width {
			x = n.linear(x, "project_out", narrow, false)
		}
		return n.logits(x, "lm_head.weight", "embed_tokens.weight", vocabulary, tied)
	})
}
