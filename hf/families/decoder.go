package families

import (
	"math"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// decoder is a language model with Llama's layout: each layer has attention and a
// feed-forward part with norms, and positions are rotary. Families differ in the values of these fields.
type decoder struct {
	vocabulary, width, layers, inner, context int
	heads, groups, dim                        int // query heads, key and value heads, and elements of a head
	eps                                       float64
	act                                       activation
	rope                                      func(layer int) *rope // nil: without positions
	window                                    func(layer int) int   // 0: no window

	norm    norm
	plusOne bool // norms multiply by 1 + weight
	// names of the norms of a layer, "" where there is none: before and after
	// attention, before and after the feed-forward part.
	norms [4]string
	last  string // name of the norm behind all layers
	// parallel says that attention and the feed-forward part both read the layer's normalised
	// input, and that both results are added to the input. Otherwise one follows the other.
	parallel bool
	// headNorm says that queries and keys have an RMSNorm of each head, and wholeNorm that
	// they have one of all heads together.
	headNorm, wholeNorm bool
	// eachNorm, if set, is the norm of queries and keys in place of headNorm. x has
	// shape [tokens, heads, dim]; which is "q" or "k".
	eachNorm func(n *net, x graph.Value, at, which string) graph.Value

	qkvBias, outBias, mlpBias, headBias bool
	fused, fusedGate                    bool    // one matrix for q, k and v, and one for gate and up
	ungated                             bool    // the feed-forward part is up, activation, down
	out, up, down                       string  // names of linear layers: of attention's output, and of the feed-forward part
	scale                               float64 // of the scores
	clip                                float64 // queries, keys and values are clipped to [−clip, clip], if not 0
	scoreCap, logitCap                  float64 // soft caps (softCap), if not 0
	embedScale, residual, logitScale    float64 // factors of embeddings, of what a part adds to its input, and of logits
	tied                                bool    // the output layer's matrix is that of the embeddings

	latent  *latent  // if not nil, attention with low-rank queries, keys and values, in place of the usual one
	unused  []string // parts of names of tensors that the graph does not use
	experts *experts
	sparse  func(layer int) bool // whether a layer has experts
	clamped *clamped             // experts of all layers as in GPT-OSS, if not nil
	sinks   bool                 // each head has a score for an extra key without a value (attention.sinks)
	gated   bool                 // the matrix of queries also gives a gate for each element of a head, whose Sigmoid multiplies the result
	fixed   bool                 // a graph takes only texts of the length that it was built for (Model.Fixed)
	// other, if set, returns y for layers that have something else in place of attention; ok is false for the others.
	other func(n *net, layer int, x graph.Value) (y graph.Value, ok bool)
}

// decoderOf reads the fields that the configurations of all decoder families share.
func decoderOf(c *published) *decoder {
	d := &decoder{
		vocabulary: c.Int("vocab_size", 0), width: c.Int("hidden_size", 0), layers: c.count("num_hidden_layers", 0),
		inner: c.Int("intermediate_size", 0), context: c.Int("max_position_embeddings", 2048), heads: c.Int("num_attention_heads", 0),
		eps: c.Float("rms_norm_eps", 1e-6), tied: c.Bool("tie_word_embeddings", false), embedScale: 1, residual: 1, logitScale: 1,
		last: "norm", out: "o_proj", up: "up_proj", down: "down_proj",
	}
	d.groups = c.Int("num_key_value_heads", d.heads)
	d.dim = c.Int("head_dim", max(d.width/d.heads, 1))
	d.scale = 1 / math.Sqrt(float64(d.dim))
	d.norms = [4]string{"input_layernorm", "", "post_attention_layernorm", ""}
	d.window = func(int) int { return 0 }
	if d.heads%d.groups != 0 {
		c.Failf("%d heads do not share %d keys evenly", d.heads, d.groups)
	}
	return d
}

// attentionBias reads whether the linear layers of attention have biases.
func (d *decoder) attentionBias(c *published, def bool) {
	d.qkvBias = c.Bool("attention_bias", def)
	d.outBias = d.qkvBias
}

// siluAndRope reads the activation, SiLU by default, and the rotary encoding, as most families have
// them. A rotary encoding that is for fewer positions shortens the context.
func (d *decoder) siluAndRope(c *published) {
	d.act = activationOf(c, "hidden_act", "silu")
	r := ropeOf(c, d.dim, d.context, 10000)
	if d.turn(r); r.most > 0 {
		d.context = min(d.context, r.most)
	}
}

// windows reads which layers have a window (sliding attention) and how long it is. The layers are those
// that layer_types lists, or, without that field, those for which def, the family's default, is true.
func (d *decoder) windows(c *published, def func(layer int) bool) {
	window := 0
	if c.Float("sliding_window", 0) != 0 {
		window = c.Int("sliding_window", 0)
	}
	c.Ignore("sliding_window")
	if types := layerTypes(c, d.layers, "full_attention", "sliding_attention"); types != nil {
		def = func(layer int) bool { return types[layer] == "sliding_attention" }
	}
	local := filled(d.layers, def)
	if window == 0 && slices.Contains(local, true) {
		window = d.context // a window of this length hides nothing
	}
	d.window = func(layer int) int {
		if local[layer] {
			return window
		}
		return 0
	}
}

// layerTypes reads layer_types, the kind of each layer, which must be one of those understood. It returns nil if there is no such field.
func layerTypes(c *published, layers int, understood ...string) []string {
	types := c.Texts("layer_types")
	for _, s := range types {
		if !slices.Contains(understood, s) {
			c.Failf("field \"layer_types\" has %s; understood: %s", graph.Quote(s), strings.Join(understood, ", "))
		}
	}
	if types != nil && len(types) != layers {
		c.Failf("field \"layer_types\" has %d entries for %d layers", len(types), layers)
		return nil
	}
	return types
}

// model returns the language model with this decoder.
func (d *decoder) model(c *published) *Model {
	src := c.source("embed_tokens.weight", "model.", "language_model.model.", "")
	return (&Model{Context: d.context, Vocabulary: d.vocabulary, Layers: d.layers, Fixed: d.fixed}).writes(src, func(n *net) graph.Value {
		ids := n.ids
		if d.fixed {
			ids = func() graph.Value { return n.several(1) }
		}
		x := n.scaled(n.embed(ids(), "embed_tokens", d.vocabulary, d.width), d.embedScale)
		for i := range d.layers {
			x = d.layer(n, i, x)
		}
		x = n.normalise(d.norm, x, d.last, d.eps, d.plusOne)
		x = n.logits(x, "lm_head.weight", "embed_tokens.weight", d.vocabulary, d.tied)
		if d.headBias {
			x = n.Add(x, n.absolute("lm_head.bias", []int{d.vocabulary}))
		}
		x = n.scaled(x, d.logitScale)
		if d.logitCap != 0 {
			x = n.softCap(x, d.logitCap)
		}
		return x
	}, append([]string{"rotary_emb.inv_freq"}, d.unused...)...)
}

// layer is one layer: attention and the feed-forward part, each added to its input.
func (d *decoder) layer(n *net, i int, x graph.Value) graph.Value {
	norm := func(x graph.Value, which int) graph.Value {
		if d.norms[which] == "" {
			return x
		}
		return n.normalise(d.norm, x, layer(i, d.norms[which]), d.eps, d.plusOne)
	}
	add := func(x, y graph.Value) graph.Value { return n.Add(x, n.scaled(y, d.residual)) }
	if d.parallel {
		y := norm(x, 0)
		return add(x, n.Add(d.attention(n, i, y), d.feed(n, i, y)))
	}
	x = add(x, norm(d.attention(n, i, norm(x, 0)), 1))
	return add(x, norm(d.feed(n, i, norm(x, 2)), 3))
}

// attention is the attention of layer i, or what the layer has in its place, without the norms around it.
func (d *decoder) attention(n *net, i int, x graph.Value) graph.Value {
	at := layer(i, "self_attn.")
	if d.latent != nil {
		return d.latent.attention(n, d, at, x)
	}
	if d.other != nil {
		if y, ok := d.other(n, i, x); ok {
			return y
		}
	}
	own, shared := d.heads*d.dim, d.groups*d.dim
	var q, k, v, gate graph.Value
	if d.fused {
		all := n.linear(x, at+"qkv_proj", own+2*shared, d.qkvBias)
		q, k, v = n.columns(all, 0, own), n.columns(all, own, shared), n.columns(all, own+shared, shared)
	} else {
		if d.gated {
			q, gate = d.halves(n, n.linear(x, at+"q_proj", 2*own, d.qkvBias))
		} else {
			q = n.linear(x, at+"q_proj", own, d.qkvBias)
		}
		k = n.linear(x, at+"k_proj", shared, d.qkvBias)
		v = n.linear(x, at+"v_proj", shared, d.qkvBias)
	}
	if d.clip != 0 {
		clip := func(x graph.Value) graph.Value { return n.Apply(graph.Clip, x, -d.clip, d.clip) }
		q, k, v = clip(q), clip(k), clip(v)
	}
	if d.wholeNorm {
		q, k = n.rms(q, at+"q_norm", d.eps, d.plusOne), n.rms(k, at+"k_norm", d.eps, d.plusOne)
	}
	a := attention{
		name: at + "attention", heads: d.heads, groups: d.groups, dim: d.dim, scale: d.scale, cap: d.scoreCap,
		causal: true, window: d.window(i), rope: d.rope(i),
	}
	switch {
	case d.eachNorm != nil:
		a.each = func(x graph.Value, which string) graph.Value { return d.eachNorm(n, x, at, which) }
	case d.headNorm:
		a.each = func(x graph.Value, which string) graph.Value { return n.rms(x, at+which+"_norm", d.eps, d.plusOne) }
	}
	if d.sinks {
		a.sinks = n.Reshape(n.weight(at+"sinks", []int{d.heads}), []int{d.groups, d.heads / d.groups, 1, 1})
	}
	y := n.attend(a, q, k, v)
	if d.gated {
		y = n.Mul(y, n.Apply(graph.Sigmoid, gate))
	}
	return n.linear(y, at+d.out, d.width, d.outBias)
}

// halves splits each head of x, of shape [tokens, heads·2·dim], into two halves, which are returned in shape [tokens, heads·dim].
func (d *decoder) halves(n *net, x graph.Value) (first, second graph.Value) {
	t := n.dim(x, 0)
	x = n.Reshape(x, []int{t, d.heads, 2 * d.dim})
	half := func(start int) graph.Value {
		return n.Reshape(n.SliceAxis(x, 2, start, 1, d.dim), []int{t, d.heads * d.dim})
	}
	return half(0), half(d.dim)
}

// feed is the feed-forward part of layer i, which is gated unless d.ungated is set, or the layer of experts.
func (d *decoder) feed(n *net, i int, x graph.Value) graph.Value {
	if d.experts != nil && d.sparse(i) {
		return n.choose(d.experts, d.act, x, layer(i, ""), d.width)
	}
	at := layer(i, "mlp.")
	if d.clamped != nil {
		return d.clamped.feed(n, x, at, d.width)
	}
	var y graph.Value
	switch {
	case d.ungated:
		y = n.activate(d.act, n.linear(x, at+d.up, d.inner, d.mlpBias))
	case d.fusedGate:
		both := n.linear(x, at+"gate_up_proj", 2*d.inner, false)
		y = n.Mul(n.activate(d.act, n.columns(both, 0, d.inner)), n.columns(both, d.inner, d.inner))
	default:
		gate := n.linear(x, at+"gate_proj", d.inner, d.mlpBias)
		y = n.Mul(n.activate(d.act, gate), n.linear(x, at+d.up, d.inner, d.mlpBias))
	}
	return n.linear(y, at+d.down, d.width, d.mlpBias)
}

// layerNorms makes the norms LayerNorm in place of RMSNorm, and reads their epsilon from a field.
func (d *decoder) layerNorms(c *published, field string) {
	d.norm, d.eps = fullNorm, c.Float(field, 1e-5)
}

// turn sets the rotary encoding of all layers.
func (d *decoder) turn(r *rope) { d.rope = func(int) *rope { return r } }

// turnWindows reads the rotary encoding of layers with a window and that of the other layers. local and global are the defaults of their
// bases.
func (d *decoder) turnWindows(c *published, local, global float64) {
	windowed, whole := ropes(c, d.dim, d.context, "rope_local_base_freq", "rope_theta", local, global)
	d.rope = func(layer int) *rope {
		if d.window(layer) > 0 {
			return windowed
		}
		return whole
	}
}

// turns reads the rotary encoding of families that turn only the first elements of each head. part is
// the default of the fraction that is turned.
func (d *decoder) turns(c *published, part float64) {
	p := c.Sub("rope_parameters")
	scaling := p
	if p == nil {
		p, scaling = c.Config, c.Sub("rope_scaling")
	} else {
		c.Ignore("rope_theta", "rope_scaling")
		part = c.Float("partial_rotary_factor", part)
	}
	part = p.Float("partial_rotary_factor", part)
	d.turn(scaledRope(c, "rope", scaling, int(float64(d.dim)*part), d.context, p.Float("rope_theta", 10000)))
}
