package families

import (
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
)

// olmo2 has norms only after attention and after the feed-forward part, and norms
// of queries and keys over all heads together.
func olmo2(c *config.Config, set weights.Set) (*Model, error) {
	d := decoderOf(c, set).siluAndRope(c)
	d.normsBehind(c)
	return d.model(c, set)
}

// olmo3 is OLMo 2 with windows in three of four layers.
func olmo3(c *config.Config, set weights.Set) (*Model, error) {
	d := decoderOf(c, set)
	d.act = activationOf(c, "hidden_act", "silu")
	d.normsBehind(c)
	d.windows(c, func(layer int) bool { return (layer+1)%4 != 0 })
	local, global := ropes(c, d.dim, d.context, "rope_local_base_freq", "rope_theta", 500000, 500000)
	d.rope = func(layer int) *rope {
		if d.window(layer) > 0 {
			return local
		}
		return global
	}
	return d.model(c, set)
}

func (d *decoder) normsBehind(c *config.Config) {
	d.norms = [4]string{"", "post_attention_layernorm", "", "post_feedforward_layernorm"}
	d.wholeNorm = true
	d.qkvBias = c.Bool("attention_bias", false)
	d.outBias = d.qkvBias
}

// olmo has norms without weights, and clips queries, keys and values, if asked for.
func olmo(c *config.Config, set weights.Set) (*Model, error) {
	d := decoderOf(c, set).siluAndRope(c)
	d.norm, d.eps = bareNorm, 1e-5
	d.qkvBias = c.Bool("attention_bias", false)
	d.outBias = d.qkvBias
	d.clip = c.Float("clip_qkv", 0)
	return d.model(c, set)
}
