package families

// llama is Llama 2 and 3, and models built like them.
func llama(c *published) *Model {
	d := decoderOf(c).siluAndRope(c)
	d.attentionBias(c, false)
	d.mlpBias = c.Bool("mlp_bias", false)
	c.Ignore("rope_interleaved", "is_llama_config") // that some conversions write
	return d.model(c)
}

// mistral has a window of attention in all layers, if any.
func mistral(c *published) *Model {
	d := decoderOf(c).siluAndRope(c)
	d.windows(c, func(int) bool { return true })
	return d.model(c)
}
