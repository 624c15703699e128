package families

// nemotron is Nemotron. It has LayerNorm with factors 1 + weight, rotary positions in a part of each
// head, and a feed-forward part without a gate, whose activation is the square of Relu.
func nemotron(c *published, d *decoder) {
	d.layerNorms(c, "norm_eps")
	d.plusOne = true
	d.act = activationOf(c, "hidden_act", "relu2")
	d.turns(c, 0.5)
	d.attentionBias(c, false)
	d.mlpBias = c.Bool("mlp_bias", false)
	d.ungated = true
}
