package families

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// t5Layers are T5's encoder or decoder. An RMSNorm is before each part of a layer. Scores are not scaled, and have biases for
// the distance of two tokens in place of positions.
type t5Layers struct {
	name                     string // of the part: "encoder." or "decoder."
	width, inner, heads, dim int
	layers, buckets, most    int // buckets of distances, and the distance from which on all share the last bucket (bothWays)
	eps                      float64
	act                      activation
	gated, causal            bool
	each                     bool        // each layer has biases of its own; else all have those of the first
	reads                    graph.Value // the encoder's output, to which the decoder attends
}

// t5 is T5, Flan-T5, mT5 and umT5, or the encoder of one alone.
func t5(c *published) *Model {
	e := &t5Layers{
		name: "encoder.", width: c.Int("d_model", 512), inner: c.Int("d_ff", 2048), heads: c.Int("num_heads", 8), dim: c.Int("d_kv", 64),
		layers: c.count("num_layers", 6), buckets: bucketsOf(c, "relative_attention_num_buckets"),
		most: c.Int("relative_attention_max_distance", 128),
		eps:  c.Float("layer_norm_epsilon", 1e-6),
	}
	if e.most <= e.buckets/2 {
		c.Failf("field \"relative_attention_max_distance\" is %d, with %d buckets", e.most, e.buckets)
	}
	feed, gated := strings.CutPrefix(c.Text("feed_forward_proj", "relu"), "gated-")
	if feed == "gelu" && gated {
		feed = "gelu_new"
	}
	act, ok := activations[feed]
	if !ok {
		c.Failf("field \"feed_forward_proj\" is %s, which is not supported", graph.Quote(feed))
	}
	e.act, e.gated, e.each = act, gated, c.Text("model_type", "") == "umt5"
	d := *e
	d.name, d.causal, d.layers = "decoder.", true, c.count("num_decoder_layers", e.layers)
	vocabulary := c.Int("vocab_size", 0)
	// If tie_word_embeddings is false, the model is T5 1.1, whose logits are not scaled. Those of mT5 are not scaled either.
	scaled := c.Bool("tie_word_embeddings", true)
	scaled = c.Bool("scale_decoder_outputs", scaled) && c.Text("model_type", "") != "mt5"
	tied := c.set.Get("lm_head.weight") == nil
	alone := c.modules != nil || slices.ContainsFunc(c.Texts("architectures"), func(s string) bool { return strings.HasSuffix(s, "EncoderModel") })
	c.Ignore("is_gated_act", "dense_act_fn", "output_past", "n_positions", "dropout_rate")
	c.Is("is_decoder", false)
	start := startOf(c)
	src := c.source("shared.weight", "")
	embeddings := "shared"
	if !src.has("shared.weight") {
		embeddings = "encoder.embed_tokens" // as in some files of encoders
	}
	out := &Model{Context: mostRelative, Vocabulary: vocabulary, Layers: e.layers}
	encode := func(n *net) graph.Value {
		for _, same := range []string{"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"} {
			n.src.used[same] = true // some files store the shared embeddings again under these names
		}
		return e.run(n, n.embed(n.ids(), embeddings, vocabulary, e.width))
	}
	if alone {
		return out.builds(src, func(n *net) {
			if x := encode(n); c.modules != nil {
				n.sentence(c.modules, x)
			} else {
				n.output("last_hidden_state", x)
			}
		})
	}
	out.Next, out.Start, out.Layers = true, start, e.layers+d.layers
	return out.builds(src, func(n *net) {
		d := d
		d.reads = encode(n)
		x := d.run(n, n.embed(n.answer(), embeddings, vocabulary, d.width))
		if scaled {
			x = n.Mul(x, n.Number(scaleOf(d.width)))
		}
		n.output(Logits, n.logits(x, "lm_head.weight", embeddings+".weight", vocabulary, tied))
	})
}

// run applies the layers and the last norm to x, of shape [tokens, width].
func (t *t5Layers) run(n *net, x graph.Value) graph.Value {
	own := attention{heads: t.heads, groups: t.heads, dim: t.dim, scale: 1, causal: t.causal}
	other := attention{heads: t.heads, groups: t.heads, dim: t.dim, scale: 1}
	bucket := func(ahead int) int { return bothWays(ahead, t.buckets, t.most) }
	if t.causal {
		bucket = func(ahead int) int { return backwards(ahead, t.buckets, t.most) }
	}
	for i := range t.layers {
		at, part := fmt.Sprintf("%sblock.%d.layer.", t.name, i), 0
		// add replaces x by x + f(norm of x) for the next part of the layer, whose names begin with at.
		add := func(f func(x graph.Value, at string) graph.Value) {
			at := fmt.Sprintf("%s%d.", at, part)
			x = n.Add(x, f(n.rms(x, at+"layer_norm", t.eps, false), at))
			part++
		}
		if i == 0 || t.each {
			own.between = n.distances(at+"0.SelfAttention.relative_attention_bias", t.heads, t.buckets, bucket)
		}
		add(func(x graph.Value, at string) graph.Value { return t.attend(n, own, x, x, at+"SelfAttention.") })
		if t.causal {
			add(func(x graph.Value, at string) graph.Value {
				return t.attend(n, other, x, t.reads, at+"EncDecAttention.")
			})
		}
		add(func(x graph.Value, at string) graph.Value { return t.feed(n, x, at+"DenseReluDense.") })
	}
	return n.rms(x, t.name+"final_layer_norm", t.eps, false)
}

func (t *t5Layers) attend(n *net, a attention, x, to graph.Value, at string) graph.Value {
	a.name = at + "attention"
	all := t.heads * t.dim
	q, k, v := n.linear(x, at+"q", all, false), n.linear(to, at+"k", all, false), n.linear(to, at+"v", all, false)
	return n.linear(n.attend(a, q, k, v), at+"o", t.width, false)
}

func (t *t5Layers) feed(n *net, x graph.Value, at string) graph.Value {
	if t.gated {
		x = n.Mul(n.activate(t.act, n.linear(x, at+"wi_0", t.inner, false)), n.linear(x, at+"wi_1", t.inner, false))
	} else {
		x = n.activate(t.act, n.linear(x, at+"wi", t.inner, false))
	}
	return n.linear(x, at+"wo", t.width, false)
}
