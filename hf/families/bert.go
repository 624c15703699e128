package families

import "fmt"

// bertOf reads the fields that BERT shares with the models that have the same names of fields and tensors.
func bertOf(c *published, prefix string) *encoder {
	e := &encoder{
		placed: true, width: c.Int("hidden_size", 0), inner: c.Int("intermediate_size", 0), heads: c.Int("num_attention_heads", 0), layers: c.count("num_hidden_layers", 0),
		eps: c.Float("layer_norm_eps", 1e-12), act: activationOf(c, "hidden_act", "gelu"), layer: func(i int) string { return fmt.Sprintf("encoder.layer.%d.", i) },
		query: "attention.self.query", key: "attention.self.key", value: "attention.self.value", out: "attention.output.dense",
		attentionNorm: "attention.output.LayerNorm", up: "intermediate.dense", down: "output.dense", outputNorm: "output.LayerNorm",
		vocabulary: c.Int("vocab_size", 0), context: c.Int("max_position_embeddings", 512), types: c.Natural("type_vocab_size", 2), prefix: prefix,
	}
	e.narrow = e.width
	c.Is("position_embedding_type", "absolute")
	c.Is("is_decoder", false)
	c.Is("add_cross_attention", false)
	return e
}

// bert is BERT, and sentence encoders made of it. A text is one segment: all its tokens have type 0.
func bert(c *published) *Model {
	e := bertOf(c, "bert.")
	e.head = headOf(c, "bert.pooler.dense", "classifier", activations["tanh"])
	e.unused = []string{"pooler.", "cls."}
	c.Ignore("directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type")
	return e.model(c)
}

// roberta is RoBERTa, XLM-RoBERTa and CamemBERT. The row of their first position is the one after
// that with the number of the padding token.
func roberta(c *published) *Model {
	e := bertOf(c, "roberta.")
	e.positionsBehind(c, int(c.Float("pad_token_id", 1)))
	e.head = headOf(c, "classifier.dense", "classifier.out_proj", activations["tanh"])
	e.unused = []string{"pooler.", "lm_head."}
	return e.model(c)
}

// positionsBehind sets the first position to row padding + 1 of the position embeddings. Texts with the padding token are refused
// then: the published model gives it no position of its own.
func (e *encoder) positionsBehind(c *published, padding int) {
	if padding < 0 || padding+1 >= e.context {
		c.Failf("positions begin at %d of %d", padding+1, e.context)
		return
	}
	e.padding, e.first = &padding, padding+1
	e.context -= e.first
}

// electra is ELECTRA's discriminator. Its embeddings may have fewer columns than the layers' width, and are projected then.
func electra(c *published) *Model {
	e := bertOf(c, "electra.")
	if e.narrow = c.Int("embedding_size", e.width); e.narrow != e.width {
		e.project = "embeddings_project"
	}
	e.head = headOf(c, "classifier.dense", "classifier.out_proj", activations["gelu"])
	e.unused = []string{"discriminator_predictions.", "generator_"}
	c.Ignore("summary_last_dropout")
	return e.model(c)
}

// albert is ALBERT, whose layers share their weights.
func albert(c *published) *Model {
	e := &encoder{
		placed: true, width: c.Int("hidden_size", 0), inner: c.Int("intermediate_size", 0), heads: c.Int("num_attention_heads", 0), layers: c.Int("num_hidden_layers", 12),
		eps: c.Float("layer_norm_eps", 1e-12), act: activationOf(c, "hidden_act", "gelu_new"),
		query: "attention.query", key: "attention.key", value: "attention.value", out: "attention.dense",
		attentionNorm: "attention.LayerNorm", up: "ffn", down: "ffn_output", outputNorm: "full_layer_layer_norm",
		vocabulary: c.Int("vocab_size", 0), context: c.Int("max_position_embeddings", 512), types: c.Int("type_vocab_size", 2), prefix: "albert.",
		narrow: c.Int("embedding_size", 128), project: "encoder.embedding_hidden_mapping_in",
		head:   headOf(c, "albert.pooler", "classifier", activations["tanh"]),
		unused: []string{"pooler", "predictions.", "sop_classifier."},
	}
	groups := c.Int("num_hidden_groups", 1)
	if e.layers > mostShared {
		c.Failf("%d layers", e.layers)
		e.layers = 1
	}
	e.layer = func(i int) string {
		return fmt.Sprintf("encoder.albert_layer_groups.%d.albert_layers.0.", i*groups/e.layers)
	}
	c.Is("inner_group_num", 1)
	c.Is("position_embedding_type", "absolute")
	c.Ignore("classifier_dropout_prob", "down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks")
	return e.model(c)
}

// mostShared is the most layers of a model whose layers share weights. The number of tensors, which bounds the layers of other
// models (count), does not bound these.
const mostShared = 1 << 10

// distilBERT is BERT without embeddings of token types.
func distilBERT(c *published) *Model {
	e := &encoder{
		placed: true, width: c.Int("dim", 0), inner: c.Int("hidden_dim", 0), heads: c.Int("n_heads", 0), layers: c.count("n_layers", 0),
		eps: 1e-12, act: activationOf(c, "activation", "gelu"), layer: func(i int) string { return fmt.Sprintf("transformer.layer.%d.", i) },
		query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin", out: "attention.out_lin",
		attentionNorm: "sa_layer_norm", up: "ffn.lin1", down: "ffn.lin2", outputNorm: "output_layer_norm",
		vocabulary: c.Int("vocab_size", 0), context: c.Int("max_position_embeddings", 512), prefix: "distilbert.",
		head:   headOf(c, "pre_classifier", "classifier", activations["relu"]),
		unused: []string{"vocab_"},
	}
	e.narrow = e.width
	c.Ignore("sinusoidal_pos_embds", "tie_weights_") // the positions are stored
	return e.model(c)
}
