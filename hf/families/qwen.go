package families

import (
	"slices"
)

// qwen reads what Qwen 2 and 3 share. If use_sliding_window is set, layers from max_window_layers on
// have windows.
func qwen(c *published, d *decoder) {
	d.siluAndRope(c)
	use, from := c.Bool("use_sliding_window", false), int(c.Float("max_window_layers", 28))
	d.windows(c, func(layer int) bool { return use && layer >= from })
}

// qwen2 is Qwen 2. Its queries, keys and values have biases.
func qwen2(c *published, d *decoder) {
	qwen(c, d)
	d.qkvBias = true
	c.Is("use_mrope", false)
}

// qwen3 is Qwen 3. Each head of queries and keys has a norm.
func qwen3(c *published, d *decoder) {
	qwen(c, d)
	d.headNorm = true
	d.attentionBias(c, false)
}

// qwen3MoE is Qwen 3 with experts in some layers.
func qwen3MoE(c *published, d *decoder) {
	qwen(c, d)
	d.headNorm = true
	d.attentionBias(c, false)
	d.qwenExperts(c, c.count("num_local_experts", 128), 8, 768, false)
	c.Ignore("num_local_experts")
}

// qwen2MoE is Qwen 1.5 and 2 with experts, and a shared expert that every token uses, whose
// result is multiplied by a gate.
func qwen2MoE(c *published, d *decoder) {
	qwen(c, d)
	use, from := c.Bool("use_sliding_window", false), int(c.Float("max_window_layers", 28))
	d.windows(c, func(layer int) bool { return use && layer < from && layer%2 == 0 })
	d.qkvBias = c.Bool("qkv_bias", true)
	d.qwenExperts(c, 60, 4, 1408, false).sharedExpert(c, 5632)
}

// qwenExperts reads which layers have experts, and their number and size. The arguments are the family's defaults.
func (d *decoder) qwenExperts(c *published, count, chosen, inner int, share bool) *experts {
	d.experts = &experts{
		count: c.count("num_experts", count), chosen: c.Int("num_experts_per_tok", chosen),
		inner: c.Int("moe_intermediate_size", inner), share: c.Bool("norm_topk_prob", share),
		router: "mlp.gate", expert: "mlp.experts.%d.", gate: "gate_proj", up: "up_proj", down: "down_proj",
	}
	step, dense := c.Int("decoder_sparse_step", 1), c.Numbers("mlp_only_layers")
	d.sparse = func(layer int) bool { return (layer+1)%step == 0 && !slices.Contains(dense, float64(layer)) }
	return d.experts
}

// sharedExpert adds a shared expert with a gate, and reads its inner width; size is the default.
func (e *experts) sharedExpert(c *published, size int) {
	e.shared, e.sharedAt, e.gated = c.Int("shared_expert_intermediate_size", size), "mlp.shared_expert.", true
}
