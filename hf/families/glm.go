package families

import (
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
)

// glm is GLM-4 as first published: Llama's layout with gate and up in one matrix, and
// positions that turn neighbours in a part of each head.
func glm(c *config.Config, set weights.Set) (*Model, error) {
	return glmOf(c, set).model(c, set)
}

// glm4 is GLM-4 of 2025, with norms behind attention and feed-forward part too.
func glm4(c *config.Config, set weights.Set) (*Model, error) {
	d := glmOf(c, set)
	d.norms = [4]string{"input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm"}
	return d.model(c, set)
}

func glmOf(c *config.Config, set weights.Set) *decoder {
	d := decoderOf(c, set)
	d.act = activationOf(c, "hidden_act", "silu")
	d.turns(c, 0.5)
	d.rope(0).neighbours = true
	d.fusedGate = true
	d.qkvBias = c.Bool("attention_bias", false)
	return d
}
