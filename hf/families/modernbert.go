package families

import "github.com/prove-model/prove-model/graph"

// modernBERT is ModernBERT. It has norms before attention and feed-forward parts, rotary positions, and gated
// feed-forward parts. By default the tokens of two of three layers attend only to their neighbours.
func modernBERT(c *published) *Model {
	vocabulary, width, layers, heads := c.Int("vocab_size", 0), c.Int("hidden_size", 0), c.count("num_hidden_layers", 0), c.Int("num_attention_heads", 0)
	context, inner := c.Int("max_position_embeddings", 8192), c.Int("intermediate_size", 0)
	eps, act := c.Float("norm_eps", 1e-5), activationOf(c, "hidden_activation", "gelu")
	bias, mlpBias, headBias := c.Bool("attention_bias", false), c.Bool("mlp_bias", false), c.Bool("classifier_bias", false)
	kind := scaleNorm
	if c.Bool("norm_bias", false) {
		kind = fullNorm
	}
	around, every := c.Int("local_attention", 128)/2, c.Int("global_attn_every_n_layers", 3)
	kinds := layerTypes(c, layers, "full_attention", "sliding_attention")
	whole := func(i int) bool {
		if kinds != nil {
			return kinds[i] == "full_attention"
		}
		return i%every == 0
	}
	local, global := ropes(c, width/heads, context, "local_rope_theta", "global_rope_theta", 10000, 160000)
	h := headOf(c, "", "classifier", activation{})
	mean, headAct := c.Text("classifier_pooling", "cls") == "mean", activationOf(c, "classifier_activation", "gelu")
	c.Is("classifier_pooling", "cls", "mean")
	c.Is("position_embedding_type", "absolute", "rope", "sans_pos")
	c.Ignore("decoder_bias", "deterministic_flash_attn", "sparse_prediction", "sparse_pred_ignore_index", "initializer_cutoff_factor", "mlp_dropout",
		"tie_word_embeddings", "reference_compile", "repad_logits_with_grad", "sliding_window", "layer_norm_eps", "rope_theta")
	src := c.source("embeddings.tok_embeddings.weight", "model.", "")
	return (&Model{Context: context, Vocabulary: vocabulary, Layers: layers}).builds(src, func(n *net) {
		norm := func(x graph.Value, name string) graph.Value { return n.normalise(kind, x, name, eps, false) }
		x := norm(n.embed(n.ids(), "embeddings.tok_embeddings", vocabulary, width), "embeddings.norm")
		for i := range layers {
			at := layer(i, "")
			y := x
			if i > 0 {
				y = norm(x, at+"attn_norm")
			}
			a := attention{name: at + "attention", heads: heads, groups: heads, dim: width / heads, scale: scaleOf(width / heads), rope: global}
			if !whole(i) {
				a.rope, a.around = local, around
			}
			all := n.linear(y, at+"attn.Wqkv", 3*width, bias)
			y = n.attend(a, n.columns(all, 0, width), n.columns(all, width, width), n.columns(all, 2*width, width))
			x = n.Add(x, n.linear(y, at+"attn.Wo", width, bias))
			both := n.linear(norm(x, at+"mlp_norm"), at+"mlp.Wi", 2*inner, mlpBias)
			y = n.Mul(n.activate(act, n.columns(both, 0, inner)), n.columns(both, inner, inner))
			x = n.Add(x, n.linear(y, at+"mlp.Wo", width, mlpBias))
		}
		x = norm(x, "final_norm")
		if c.modules != nil {
			n.sentence(c.modules, x)
			return
		}
		if h.kind == ofText && mean {
			x = n.Reduce(graph.Mean, x, []int{0}, true)
		}
		if h.kind == ofText || h.kind == ofTokens {
			x = n.activate(headAct, n.outside(x, "head.dense", width, headBias))
			x = n.LayerNorm(x, 1, eps, n.absolute("head.norm.weight", []int{width}))
			if kind == fullNorm {
				x = n.Add(x, n.absolute("head.norm.bias", []int{width}))
			}
		}
		h.apply(n, x)
	}, "head.", "decoder.")
}
