package families

// nemotron has LayerNorm with factors 1 + weight, positions encoded in a part of each
// head, and squares of Relu in a feed-forward part without a gate.
func nemotron(c *published, d *decoder) {
	d.layerNorms(c, "norm_eps")
	d.plusOne = true
	d.act = activationOf(c, "hidden_act", "relu2")
	d.turns(c, 0.5)
	d.attentionBias(c, false)
	d.mlpBias = c.Bool("mlp_bias", false)
	d.ungated = true
}
