package families

import (
	"math"
)

// gemma reads what the Gemma families share: embeddings scaled by √width, four norms a
// layer with factors 1 + weight, and a field with the scale of the scores. The functions of
// the families then change what differs.
func gemma(c *published, d *decoder) {
	if !c.Has("head_dim") {
		c.Failf("field \"head_dim\" is missing")
	}
	d.tied = c.Bool("tie_word_embeddings", true)
	d.act = activationOf(c, "hidden_activation", "gelu_pytorch_tanh")
	c.Is("hidden_act", c.Text("hidden_activation", "gelu_pytorch_tanh"), "gelu") // the first Gemma's files say "gelu", which its code ignores
	d.plusOne = true
	d.norms = [4]string{"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"}
	d.attentionBias(c, false)
	d.scale = 1 / math.Sqrt(c.Float("query_pre_attn_scalar", 256))
	d.scoreCap, d.logitCap = c.Float("attn_logit_softcapping", 0), c.Float("final_logit_softcapping", 0)
	c.Is("use_bidirectional_attention", false)
	// The reference rounds the scale to the type that the embeddings are stored in.
	d.embedScale = math.Sqrt(float64(d.width))
	for _, name := range []string{"model.embed_tokens.weight", "embed_tokens.weight"} {
		if t := c.set.Get(name); t != nil && t.Type == "BF16" {
			d.embedScale = toBFloat16(d.embedScale)
		}
	}
}

// gemma1 is the first Gemma: two norms a layer, no caps, no windows.
func gemma1(c *published, d *decoder) {
	gemma(c, d)
	d.norms = [4]string{"input_layernorm", "", "post_attention_layernorm", ""}
	d.scale = scaleOf(d.dim)
	d.turn(ropeOf(c, d.dim, d.context, 10000))
}

// toBFloat16 rounds to the nearest bfloat16, and halfway cases to even.
func toBFloat16(x float64) float64 {
	bits := math.Float32bits(float32(x))
	bits += 0x7fff + bits>>16&1
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// gemma2 is Gemma 2. It has a window in every other layer, from the first on, and soft caps.
func gemma2(c *published, d *decoder) {
	gemma(c, d)
	d.turn(ropeOf(c, d.dim, d.context, 10000))
	d.windows(c, func(layer int) bool { return layer%2 == 0 })
}

// gemma3 is Gemma 3. All layers but every sixth have windows, and a rotary encoding with another
// base than the others. Queries and keys have norms.
func gemma3(c *published, d *decoder) {
	gemma(c, d)
	d.headNorm = true
	pattern := c.Int("sliding_window_pattern", 6)
	c.Ignore("_sliding_window_pattern")
	d.windows(c, func(layer int) bool { return (layer+1)%pattern != 0 })
	d.turnWindows(c, 10000, 1000000)
}
