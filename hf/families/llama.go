package families

// llama is Llama 2 and 3, and models built like them.
func llama(c *published, d *decoder) {
	d.siluAndRope(c)
	d.attentionBias(c, false)
	d.mlpBias = c.Bool("mlp_bias", false)
	c.Ignore("rope_interleaved", "is_llama_config") // that some conversions write
}

// mistral has a window of attention in all layers, if any.
func mistral(c *published, d *decoder) {
	d.siluAndRope(c)
	d.windows(c, func(int) bool { return true })
}
