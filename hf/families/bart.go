package families

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// bartLayers are the encoder or the decoder of BART and models like it.
type bartLayers struct {
	name                        string // of the part: "encoder." or "decoder."
	width, inner, heads, layers int
	context, first              int // the number of positions, and the row of the embeddings for the first one
	act                         activation
	before                      bool        // norms are before attention and feed-forward parts, and behind all layers; else behind the parts
	normed                      bool        // there is a norm of the embeddings
	sines                       bool        // position embeddings are sines and cosines, which are computed unless the file has them
	steps                       bool        // the frequencies of the sines are 10000^(−i/(half − 1)), down to 10^−4; else 10000^(−2i/width)
	keyless                     bool        // the linear layers of keys have no biases
	causal                      bool        // this is the decoder, which also attends to reads
	reads                       graph.Value // the encoder's output; set for a decoder only
}

// bartNorm is the epsilon of the norms. The configurations have no field for it.
const bartNorm = 1e-5

// bartOf reads the fields of an encoder or a decoder, which name says, that all families like BART have. The numbers are defaults for
// fields that the configuration lacks; 0 means that it must have the field.
func bartOf(c *published, name string, width, inner, heads, layers int) *bartLayers {
	b := &bartLayers{
		name: name + ".", width: c.Int("d_model", width), inner: c.Int(name+"_ffn_dim", inner), heads: c.Int(name+"_attention_heads", heads),
		layers: c.count(name+"_layers", layers), act: activationOf(c, "activation_function", "gelu"),
	}
	c.evenly(b.heads, b.width)
	c.Ignore(name + "_layerdrop")
	return b
}

// embedScale returns the factor of embeddings of a width: √width if the field scale_embedding says so, and otherwise 1.
func embedScale(c *published, width int) float64 {
	if c.Bool("scale_embedding", false) {
		return math.Sqrt(float64(width))
	}
	return 1
}

// bart is BART, mBART, Marian, Pegasus and M2M100.
func bart(c *published) *Model {
	kind := c.Text("model_type", "")
	part := func(name string) *bartLayers {
		e := bartOf(c, name, 0, 0, 0, 0)
		e.context = c.Int("max_position_embeddings", 1024)
		e.before, e.normed = kind == "mbart" || kind == "pegasus" || kind == "m2m_100", kind == "bart" || kind == "mbart"
		if e.sines, e.steps = !e.normed, kind == "m2m_100"; !e.sines {
			e.first = 2
		} else if e.steps {
			e.first = c.Natural("pad_token_id", 1) + 1
		}
		return e
	}
	e, d := part("encoder"), part("decoder")
	d.causal = true
	vocabulary, scale := c.Int("vocab_size", 0), embedScale(c, e.width)
	if !c.Has("decoder_start_token_id") {
		c.Failf("field \"decoder_start_token_id\" is missing: which token the decoder begins with is the model's to say")
	}
	start := startOf(c)
	c.Is("tie_word_embeddings", true)
	c.Is("share_encoder_decoder_embeddings", true)
	c.Is("decoder_vocab_size", vocabulary)
	c.Is("is_decoder", false)
	c.Is("normalize_embedding", e.normed)
	c.Is("normalize_before", e.before)
	c.Is("add_final_layer_norm", e.before)
	c.Is("static_position_embeddings", e.sines)
	c.Is("add_bias_logits", false)
	c.Ignore("activation_dropout", "init_std", "num_hidden_layers", "forced_eos_token_id", "forced_bos_token_id",
		"extra_pos_embeddings", "force_bos_token_to_be_generated", "num_beams", "early_stopping", "no_repeat_ngram_size", "length_penalty", "prefix", "classif_dropout")
	src := c.source("encoder.layers.0.fc1.weight", "model.", "")
	embeddings := "shared"
	if !src.has("shared.weight") {
		embeddings = "encoder.embed_tokens"
	}
	out := &Model{Context: e.context, Vocabulary: vocabulary, Layers: e.layers + d.layers, Next: true, Start: start}
	if e.steps {
		padding := e.first - 1
		out.Refuse = (&encoder{padding: &padding}).padded()
	}
	return out.builds(src, func(n *net) {
		d := *d
		for _, same := range []string{"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"} {
			n.src.used[n.src.prefix+same] = true // some files store the shared embeddings again under these names
		}
		embed := func(ids graph.Value) graph.Value {
			return n.scaled(n.embed(ids, embeddings, vocabulary, e.width), scale)
		}
		d.reads = e.run(n, embed(n.ids()))
		x := d.run(n, embed(n.answer()))
		x = n.logits(x, "lm_head.weight", embeddings+".weight", vocabulary, true)
		if name := "final_logits_bias"; c.set.Get(name) != nil {
			x = n.Add(x, n.absolute(name, []int{1, vocabulary}))
		}
		n.output(Logits, x)
	})
}

// run adds the position embeddings to x, of shape [tokens, width], and applies the layers.
func (b *bartLayers) run(n *net, x graph.Value) graph.Value {
	norm := func(x graph.Value, name string) graph.Value { return n.layerNorm(x, name, bartNorm) }
	x = n.Add(x, b.positions(n))
	if b.normed {
		x = norm(x, b.name+"layernorm_embedding")
	}
	a := attention{heads: b.heads, groups: b.heads, dim: b.width / b.heads, scale: scaleOf(b.width / b.heads)}
	for i := range b.layers {
		at := b.name + layer(i, "")
		// add replaces x by x + f(x), with a norm before f or behind the sum.
		add := func(name string, f func(x graph.Value) graph.Value) {
			if b.before {
				x = n.Add(x, f(norm(x, at+name)))
			} else {
				x = norm(n.Add(x, f(x)), at+name)
			}
		}
		attend := func(a attention, name string, x, to graph.Value) graph.Value {
			a.name, name = at+name+"attention", at+name
			q := n.linear(x, name+"q_proj", b.width, true)
			k, v := n.linear(to, name+"k_proj", b.width, !b.keyless), n.linear(to, name+"v_proj", b.width, true)
			return n.linear(n.attend(a, q, k, v), name+"out_proj", b.width, true)
		}
		own := a
		own.causal = b.causal
		add("self_attn_layer_norm", func(x graph.Value) graph.Value { return attend(own, "self_attn.", x, x) })
		if b.causal {
			add("encoder_attn_layer_norm", func(x graph.Value) graph.Value { return attend(a, "encoder_attn.", x, b.reads) })
		}
		add("final_layer_norm", func(x graph.Value) graph.Value {
			return n.linear(n.activate(b.act, n.linear(x, at+"fc1", b.inner, true)), at+"fc2", b.width, true)
		})
	}
	if b.before {
		x = norm(x, b.name+"layer_norm")
	}
	return x
}

// positions returns the position embeddings of the tokens: the rows that the file has, or sines in the first half of the columns and
// cosines in the second.
func (b *bartLayers) positions(n *net) graph.Value {
	name := b.name + "embed_positions"
	if !b.sines || n.src.has(name+".weight") {
		return n.positions(name, b.context+b.first, b.width, b.first)
	}
	n.At("", name)
	half, slowest := (b.width+1)/2, float64(b.width)/2
	if b.steps {
		slowest = float64(half - 1)
	}
	v := filled(n.tokens*b.width, func(at int) float32 {
		i := at % b.width
		angle := float64(at/b.width+b.first) / elementary.Pow(10000, float64(i%half)/slowest)
		if i >= half {
			return float32(elementary.Cos(angle))
		}
		return float32(elementary.Sin(angle))
	})
	return n.table(name+"/sines", []int{n.tokens, b.width}, v, true)
}
