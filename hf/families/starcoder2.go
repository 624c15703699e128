package families

// starCoder2 is StarCoder2. It has LayerNorm, biases and a feed-forward part without a gate.
func starCoder2(c *published, d *decoder) {
	d.layerNorms(c, "norm_epsilon")
	d.siluAndRope(c)
	d.act = activationOf(c, "hidden_act", "gelu_pytorch_tanh")
	d.tied = c.Bool("tie_word_embeddings", true)
	bias := c.Bool("use_bias", true)
	d.qkvBias, d.outBias, d.mlpBias = bias, bias, bias
	d.ungated, d.up, d.down = true, "c_fc", "c_proj"
	d.windows(c, func(int) bool { return true })
	c.Ignore("mlp_type", "norm_type", "residual_dropout")
}
