package families

import "github.com/prove-model/prove-model/graph"

// mpnet is MPNet: BERT without token types. Its scores have a bias for the distance of two tokens,
// which is the same in all layers.
func mpnet(c *published) *Model {
	e := bertOf(c, "mpnet.")
	e.query, e.key, e.value, e.out = "attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"
	e.attentionNorm, e.types = "attention.LayerNorm", 0
	e.positionsBehind(c, 1) // the published code does not read pad_token_id here
	buckets := bucketsOf(c, "relative_attention_num_buckets")
	heads := e.heads
	e.relative = func(n *net) graph.Value {
		return n.distances("encoder.relative_attention_bias", heads, buckets, func(d int) int { return bothWays(d, buckets, 128) })
	}
	e.head = headOf(c, "classifier.dense", "classifier.out_proj", activations["tanh"])
	e.unused = []string{"pooler.", "lm_head."}
	return e.model(c)
}
