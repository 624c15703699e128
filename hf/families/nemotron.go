package families

import (
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
)

// nemotron has LayerNorm with factors 1 + weight, positions encoded in a part of each
// head, and squares of Relu in a feed-forward part without a gate.
func nemotron(c *config.Config, set weights.Set) (*Model, error) {
	d := decoderOf(c, set).layerNorms(c, "norm_eps")
	d.plusOne = true
	d.act = activationOf(c, "hidden_act", "relu2")
	d.turns(c, 0.5)
	d.attentionBias(c, false)
	d.mlpBias = c.Bool("mlp_bias", false)
	d.ungated = true
	return d.model(c, set)
}
