package families

// llama is Llama 2 and 3, and models built like them.
func llama(c *published, d *decoder) {
	d.siluAndRope(c)
	d.attentionBias(c, false)
	d.mlpBias = c.Bool("mlp_bias", false)
	c.Ignore("rope_interleaved", "is_llama_config") // some conversions write these fields
}

// mistral is Mistral. By default all layers have an attention window, if the configuration has one.
func mistral(c *published, d *decoder) {
	d.siluAndRope(c)
	d.windows(c, func(int) bool { return true })
}
