package families

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
)

// vit is the Vision Transformer: patches of an image are its tokens. With a
// classifier the output is its logits, otherwise the last hidden state.
func vit(c *config.Config, set weights.Set) (*Model, error) {
	width, layers, heads, inner := c.Int("hidden_size", 0), countOf(c, set, "num_hidden_layers", 0), c.Int("num_attention_heads", 0), c.Int("intermediate_size", 0)
	side, patch, channels := c.Int("image_size", 224), c.Int("patch_size", 16), c.Int("num_channels", 3)
	eps, bias := c.Float("layer_norm_eps", 1e-12), c.Bool("qkv_bias", true)
	act := activationOf(c, "hidden_act", "gelu")
	c.Ignore("encoder_stride", "pooler_output_size", "pooler_act")
	if side%patch != 0 {
		c.Failf("patches of %d do not fill an image of %d", patch, side)
	}
	if err := c.Done(); err != nil {
		return nil, err
	}
	src := newSource(set, "embeddings.cls_token", "vit.", "")
	across := side / patch
	tokens := across*across + 1
	return &Model{Layers: layers, build: func(_, _ int) (*graph.Graph, error) {
		n := newNet("", src, tokens)
		x := n.Input("pixel_values", graph.Float, []int{1, channels, side, side})
		// [channels, rows, patch, columns, patch] to [rows·columns, channels·patch²]
		x = n.Transpose(n.Reshape(x, []int{channels, across, patch, across, patch}), []int{1, 3, 0, 2, 4})
		x = n.Reshape(x, []int{tokens - 1, channels * patch * patch})
		at := "embeddings.patch_embeddings.projection"
		n.At("", at)
		w := n.weight(at+".weight", []int{width, channels, patch, patch})
		x = n.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, x, n.Reshape(w, []int{width, channels * patch * patch}), n.weight(at+".bias", []int{width}))
		first := n.Reshape(n.weight("embeddings.cls_token", []int{1, 1, width}), []int{1, width})
		x = n.Concat(0, first, x)
		x = n.Add(x, n.Reshape(n.weight("embeddings.position_embeddings", []int{1, tokens, width}), []int{tokens, width}))
		a := attention{heads: heads, groups: heads, dim: width / heads, scale: scaleOf(width / heads)}
		for i := range layers {
			at := "encoder." + layer(i, "")
			at = "encoder.layer." + at[len("encoder.layers."):]
			y := n.layerNorm(x, at+"layernorm_before", eps)
			self := at + "attention.attention."
			q, k, v := n.linear(y, self+"query", width, bias), n.linear(y, self+"key", width, bias), n.linear(y, self+"value", width, bias)
			a.name = at + "attention"
			x = n.Add(x, n.linear(n.attend(a, q, k, v), at+"attention.output.dense", width, true))
			y = n.linear(n.layerNorm(x, at+"layernorm_after", eps), at+"intermediate.dense", inner, true)
			x = n.Add(x, n.linear(n.activate(act, y), at+"output.dense", width, true))
		}
		x = n.layerNorm(x, "layernorm", eps)
		classes := set.Get("classifier.weight")
		if classes == nil {
			n.output("last_hidden_state", x)
			return n.finish("pooler.")
		}
		n.At("", "classifier")
		out := classes.Len() / width
		w, b := n.absolute("classifier.weight", []int{out, width}), n.absolute("classifier.bias", []int{out})
		x = n.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, n.SliceAxis(x, 0, 0, 1, 1), w, b)
		n.Output("logits", x)
		return n.finish()
	}}, nil
}
