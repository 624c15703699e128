package families

// olmo2 has norms only after attention and after the feed-forward part, and norms
// of queries and keys over all heads together.
func olmo2(c *published, d *decoder) {
	d.siluAndRope(c)
	d.normsBehind(c)
}

// olmo3 is OLMo 2 with windows in three of four layers.
func olmo3(c *published, d *decoder) {
	d.act = activationOf(c, "hidden_act", "silu")
	d.normsBehind(c)
	d.windows(c, func(layer int) bool { return (layer+1)%4 != 0 })
	d.turnWindows(c, 500000, 500000)
}

func (d *decoder) normsBehind(c *published) {
	d.norms = [4]string{"", "post_attention_layernorm", "", "post_feedforward_layernorm"}
	d.wholeNorm = true
	d.attentionBias(c, false)
}

// olmo has norms without weights, and clips queries, keys and values, if asked for.
func olmo(c *published, d *decoder) {
	d.siluAndRope(c)
	d.norm, d.eps = bareNorm, 1e-5
	d.attentionBias(c, false)
	d.clip = c.Float("clip_qkv", 0)
}
