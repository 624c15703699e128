package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
)

// encoder is the part that BERT and DistilBERT share: layers with norms after each
// part, under different names.
type encoder struct {
	width, inner, heads, layers int
	eps                         float64
	act                         activation
	layer                       string // with %d for the number
	query, key, value, out      string
	attentionNorm, up, down     string
	outputNorm                  string
}

// run applies the layers.
func (e encoder) run(n *net, x graph.Value) graph.Value {
	a := attention{heads: e.heads, groups: e.heads, dim: e.width / e.heads, scale: scaleOf(e.width / e.heads)}
	for i := range e.layers {
		at := fmt.Sprintf(e.layer, i)
		q, k, v := n.linear(x, at+e.query, e.width, true), n.linear(x, at+e.key, e.width, true), n.linear(x, at+e.value, e.width, true)
		a.name = at + "attention"
		y := n.linear(n.attend(a, q, k, v), at+e.out, e.width, true)
		x = n.layerNorm(n.Add(x, y), at+e.attentionNorm, e.eps)
		y = n.activate(e.act, n.linear(x, at+e.up, e.inner, true))
		x = n.layerNorm(n.Add(x, n.linear(y, at+e.down, e.width, true)), at+e.outputNorm, e.eps)
	}
	return x
}

// bert is BERT, for texts of one part, and sentence encoders made of it.
func bert(c *config.Config, set weights.Set, m *Modules) (*Model, error) {
	e := encoder{
		width: c.Int("hidden_size", 0), inner: c.Int("intermediate_size", 0), heads: c.Int("num_attention_heads", 0), layers: countOf(c, set, "num_hidden_layers", 0),
		eps: c.Float("layer_norm_eps", 1e-12), act: activationOf(c, "hidden_act", "gelu"), layer: "encoder.layer.%d.",
		query: "attention.self.query", key: "attention.self.key", value: "attention.self.value", out: "attention.output.dense",
		attentionNorm: "attention.output.LayerNorm", up: "intermediate.dense", down: "output.dense", outputNorm: "output.LayerNorm",
	}
	vocabulary, context, types := c.Int("vocab_size", 0), c.Int("max_position_embeddings", 512), c.Int("type_vocab_size", 2)
	c.Is("position_embedding_type", "absolute")
	c.Is("is_decoder", false)
	c.Is("add_cross_attention", false)
	c.Ignore("tie_word_embeddings", "directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type")
	if err := c.Done(); err != nil {
		return nil, err
	}
	src := newSource(set, "embeddings.word_embeddings.weight", "bert.", "")
	return &Model{Context: context, Vocabulary: vocabulary, Layers: e.layers, build: func(tokens, _ int) (*graph.Graph, error) {
		n := newNet("", src, tokens)
		x := n.embed(n.ids(), "embeddings.word_embeddings", vocabulary, e.width)
		kind := n.SliceAxis(n.weight("embeddings.token_type_embeddings.weight", []int{types, e.width}), 0, 0, 1, 1)
		x = n.Add(x, n.Add(n.positions("embeddings.position_embeddings", context, e.width), kind))
		x = e.run(n, n.layerNorm(x, "embeddings.LayerNorm", e.eps))
		if m == nil {
			n.output("last_hidden_state", x)
		} else {
			n.sentence(m, x)
		}
		return n.finish("pooler.", "cls.", "embeddings.position_ids")
	}}, nil
}

// sentence makes the output of a sentence encoder.
func (n *net) sentence(m *Modules, x graph.Value) {
	n.At("", Sentence)
	if m.Mean {
		x = n.Reduce(graph.Mean, x, []int{0}, true)
	} else {
		x = n.SliceAxis(x, 0, 0, 1, 1)
	}
	if m.Normalize {
		x = n.Norm(graph.Norm{Axes: []int{1}, Sum: true}, x)
	}
	n.Output(Sentence, x)
}

// distilBERT is BERT without token types.
func distilBERT(c *config.Config, set weights.Set) (*Model, error) {
	e := encoder{
		width: c.Int("dim", 0), inner: c.Int("hidden_dim", 0), heads: c.Int("n_heads", 0), layers: countOf(c, set, "n_layers", 0),
		eps: 1e-12, act: activationOf(c, "activation", "gelu"), layer: "transformer.layer.%d.",
		query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin", out: "attention.out_lin",
		attentionNorm: "sa_layer_norm", up: "ffn.lin1", down: "ffn.lin2", outputNorm: "output_layer_norm",
	}
	vocabulary, context := c.Int("vocab_size", 0), c.Int("max_position_embeddings", 512)
	c.Ignore("sinusoidal_pos_embds", "tie_weights_", "tie_word_embeddings") // the positions are stored
	if err := c.Done(); err != nil {
		return nil, err
	}
	src := newSource(set, "embeddings.word_embeddings.weight", "distilbert.", "")
	return &Model{Context: context, Vocabulary: vocabulary, Layers: e.layers, build: func(tokens, _ int) (*graph.Graph, error) {
		n := newNet("", src, tokens)
		x := n.embed(n.ids(), "embeddings.word_embeddings", vocabulary, e.width)
		x = n.Add(x, n.positions("embeddings.position_embeddings", context, e.width))
		n.output("last_hidden_state", e.run(n, n.layerNorm(x, "embeddings.LayerNorm", e.eps)))
		return n.finish("vocab_", "embeddings.position_ids")
	}}, nil
}
