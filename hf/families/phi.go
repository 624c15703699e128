package families

import "github.com/prove-model/prove-model/graph"

// phi3 is Phi-3 and Phi-4: queries, keys and values are one matrix, and so are gate
// and up.
func phi3(c *published, d *decoder) {
	d.siluAndRope(c)
	d.fused, d.fusedGate = true, true
	c.Is("attention_bias", false)
	c.Ignore("original_max_position_embeddings")
	d.windows(c, func(int) bool { return true })
}

// phi is Phi-1 and Phi-2: LayerNorm, biases everywhere, rotary positions in a part of each
// head, and attention parallel to the feed-forward part.
func phi(c *published, d *decoder) {
	d.layerNorms(c, "layer_norm_eps")
	d.act = activationOf(c, "hidden_act", "gelu_new")
	d.turns(c, 0.5)
	d.parallel, d.norms, d.last = true, [4]string{"input_layernorm"}, "final_layernorm"
	d.qkvBias, d.outBias, d.mlpBias, d.headBias = true, true, true, true
	d.ungated, d.out, d.up, d.down = true, "dense", "fc1", "fc2"
	if c.Bool("qk_layernorm", false) {
		d.eachNorm = func(n *net, x graph.Value, at, which string) graph.Value {
			return n.layerNorm(x, at+which+"_layernorm", d.eps)
		}
	}
}
