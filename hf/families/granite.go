package families

// granite is Llama's layout with four factors: of the embeddings, of the results of attention and
// feed-forward parts before they are added to their input, of the scores and of the logits.
func granite(c *published, d *decoder) {
	d.siluAndRope(c)
	d.attentionBias(c, false)
	d.mlpBias = c.Bool("mlp_bias", false)
	d.embedScale, d.residual = c.Float("embedding_multiplier", 1), c.Float("residual_multiplier", 1)
	d.scale = c.Float("attention_multiplier", 1)
	scaling := c.Float("logits_scaling", 1)
	if scaling == 0 {
		c.Failf("field \"logits_scaling\" is 0, by which logits are divided")
	}
	d.logitScale = 1 / scaling
}
