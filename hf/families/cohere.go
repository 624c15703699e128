package families

import "github.com/prove-model/prove-model/graph"

// command reads what Command R and Command R7B share. Attention and feed-forward part are
// parallel, behind one LayerNorm without a bias. Rotary pairs are neighbouring elements.
// Logits are multiplied by a factor.
func command(c *published, d *decoder) *rope {
	d.layerNorms(c, "layer_norm_eps")
	d.norm, d.norms, d.parallel = scaleNorm, [4]string{"input_layernorm"}, true
	d.act = activationOf(c, "hidden_act", "silu")
	d.attentionBias(c, false)
	d.tied = c.Bool("tie_word_embeddings", true)
	d.logitScale = c.Float("logit_scale", 0.0625)
	r := ropeOf(c, d.dim, d.context, 10000)
	r.neighbours = true
	d.turn(r)
	return r
}

// cohere is Command R. If use_qk_norm is set, every head of queries and keys has a norm.
func cohere(c *published, d *decoder) {
	command(c, d)
	if c.Bool("use_qk_norm", false) {
		d.eachNorm = func(n *net, x graph.Value, at, which string) graph.Value {
			return n.LayerNorm(x, 2, d.eps, n.weight(at+which+"_norm.weight", []int{n.dim(x, 1), n.dim(x, 2)}))
		}
	}
}

// cohere2 is Command R7B. By default three of four layers have a window and rotary positions, and the fourth
// has neither.
func cohere2(c *published, d *decoder) {
	r := command(c, d)
	pattern := c.Int("sliding_window_pattern", 4)
	c.Ignore("_sliding_window_pattern")
	d.windows(c, func(layer int) bool { return (layer+1)%pattern != 0 })
	d.rope = func(layer int) *rope {
		if d.window(layer) == 0 {
			return nil
		}
		return r
	}
}
