package families

import (
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
)

// olmo2 has norms only after attention and after the feed-forward part, and norms
// of queries and keys over all heads together.
func olmo2(c *config.Config, set weights.Set) (*Model, error) {
	d := decoderOf(c, set).siluAndRope(c)
	d.norms = [4]string{"", "post_attention_layernorm", "", "post_feedforward_layernorm"}
	d.wholeNorm = true
	d.qkvBias = c.Bool("attention_bias", false)
	d.outBias = d.qkvBias
	return d.model(c, set)
}
