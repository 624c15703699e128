package families

// glm is GLM-4 as first published: Llama's layout with gate and up in one matrix. Rotary
// positions turn pairs of neighbouring elements, in a part of each head.
func glm(c *published, d *decoder) {
	d.act = activationOf(c, "hidden_act", "silu")
	d.turns(c, 0.5)
	d.rope(0).neighbours = true
	d.fusedGate = true
	d.qkvBias = c.Bool("attention_bias", false)
}

// glm4 is GLM-4 of 2025, with norms behind attention and feed-forward part too.
func glm4(c *published, d *decoder) {
	glm(c, d)
	d.norms = [4]string{"input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm"}
}
