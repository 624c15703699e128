package families

// olmo2 is OLMo 2. It has norms only after attention and after the feed-forward part, and norms
// of queries and keys over all heads together.
func olmo2(c *published, d *decoder) {
	d.siluAndRope(c)
	d.normsBehind(c)
}

// olmo3 is OLMo 3: OLMo 2 with windows in three of four layers by default.
func olmo3(c *published, d *decoder) {
	d.act = activationOf(c, "hidden_act", "silu")
	d.normsBehind(c)
	d.windows(c, func(layer int) bool { return (layer+1)%4 != 0 })
	d.turnWindows(c, 500000, 500000)
}

// normsBehind sets the norms that OLMo 2 and 3 have.
func (d *decoder) normsBehind(c *published) {
	d.norms = [4]string{"", "post_attention_layernorm", "", "post_feedforward_layernorm"}
	d.wholeNorm = true
	d.attentionBias(c, false)
}

// olmo is the first OLMo. It has norms without weights, and clips queries, keys and values if clip_qkv is set.
func olmo(c *published, d *decoder) {
	d.siluAndRope(c)
	d.norm, d.eps = bareNorm, 1e-5
	d.attentionBias(c, false)
	d.clip = c.Float("clip_qkv", 0)
}
