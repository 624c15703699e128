package families

// mixtral is Mistral with experts in all layers.
func mixtral(c *published, d *decoder) {
	d.siluAndRope(c)
	d.windows(c, func(int) bool { return true })
	d.experts = &experts{
		count: c.count("num_local_experts", 8), chosen: c.Int("num_experts_per_tok", 2), inner: d.inner, share: true,
		router: "block_sparse_moe.gate", expert: "block_sparse_moe.experts.%d.", gate: "w1", up: "w3", down: "w2",
	}
	d.sparse = func(int) bool { return true }
}
