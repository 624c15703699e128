package families

// smolLM3 is Llama's layout, but some layers have no rotary positions: by default every fourth one,
// or those that no_rope_layers marks with 0.
func smolLM3(c *published, d *decoder) {
	d.siluAndRope(c)
	d.tied = c.Bool("tie_word_embeddings", true)
	d.attentionBias(c, false)
	d.mlpBias = c.Bool("mlp_bias", false)
	every, turned := c.Int("no_rope_layer_interval", 4), c.Numbers("no_rope_layers")
	if turned != nil && len(turned) != d.layers {
		c.Failf("field \"no_rope_layers\" has %d entries for %d layers", len(turned), d.layers)
		turned = nil
	}
	r := d.rope(0)
	positions := func(layer int) bool {
		if turned != nil {
			return turned[layer] != 0
		}
		return (layer+1)%every != 0
	}
	d.rope = func(layer int) *rope {
		if !positions(layer) {
			return nil
		}
		return r
	}
	use := c.Bool("use_sliding_window", false)
	d.windows(c, func(layer int) bool { return use && positions(layer) })
}
