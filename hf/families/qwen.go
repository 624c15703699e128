package families

import (
	"slices"
)

// qwen reads what Qwen 2 and 3 share: windows in the upper layers, if asked for.
func qwen(c *published) *decoder {
	d := decoderOf(c).siluAndRope(c)
	use, from := c.Bool("use_sliding_window", false), int(c.Float("max_window_layers", 28))
	d.windows(c, func(layer int) bool { return use && layer >= from })
	return d
}

// qwen2 has biases of queries, keys and values.
func qwen2(c *published) *Model {
	d := qwen(c)
	d.qkvBias = true
	c.Is("use_mrope", false)
	return d.model(c)
}

// qwen3 has norms of queries and keys.
func qwen3(c *published) *Model {
	d := qwen(c)
	d.headNorm = true
	d.attentionBias(c, false)
	return d.model(c)
}

// qwen3MoE is Qwen 3 with experts in some layers.
func qwen3MoE(c *published) *Model {
	d := qwen(c)
	d.headNorm = true
	d.attentionBias(c, false)
	d.experts = &experts{
		count: c.count("num_experts", c.count("num_local_experts", 128)), chosen: c.Int("num_experts_per_tok", 8),
		inner: c.Int("moe_intermediate_size", 768), share: c.Bool("norm_topk_prob", false),
		router: "mlp.gate", expert: "mlp.experts.%d.", gate: "gate_proj", up: "up_proj", down: "down_proj",
	}
	c.Ignore("num_local_experts")
	d.sparseSteps(c)
	return d.model(c)
}

// qwen2MoE is Qwen 1.5 and 2 with experts, and one more feed-forward part that every
// token uses, times a gate of its own.
func qwen2MoE(c *published) *Model {
	d := qwen(c)
	use, from := c.Bool("use_sliding_window", false), int(c.Float("max_window_layers", 28))
	d.windows(c, func(layer int) bool { return use && layer < from && layer%2 == 0 })
	d.qkvBias = c.Bool("qkv_bias", true)
	d.experts = &experts{
		count: c.count("num_experts", 60), chosen: c.Int("num_experts_per_tok", 4),
		inner: c.Int("moe_intermediate_size", 1408), share: c.Bool("norm_topk_prob", false),
		router: "mlp.gate", expert: "mlp.experts.%d.", gate: "gate_proj", up: "up_proj", down: "down_proj",
		shared: c.Int("shared_expert_intermediate_size", 5632), sharedAt: "mlp.shared_expert.", gated: true,
	}
	d.sparseSteps(c)
	return d.model(c)
}

// sparseSteps reads which layers have experts.
func (d *decoder) sparseSteps(c *published) {
	step, dense := c.Int("decoder_sparse_step", 1), c.Numbers("mlp_only_layers")
	d.sparse = func(layer int) bool { return (layer+1)%step == 0 && !slices.Contains(dense, float64(layer)) }
}
