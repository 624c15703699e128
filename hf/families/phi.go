package families

import (
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
)

// phi3 is Phi-3 and Phi-4: queries, keys and values are one matrix, and so are gate
// and up.
func phi3(c *config.Config, set weights.Set) (*Model, error) {
	d := decoderOf(c, set).siluAndRope(c)
	d.fused = true
	c.Is("attention_bias", false)
	c.Ignore("original_max_position_embeddings")
	d.windows(c, func(int) bool { return true })
	return d.model(c, set)
}
