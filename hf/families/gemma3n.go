package families

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// streamed is Gemma 3n, a decoder with four additions. There are several versions, or streams, of the state of each token; a layer
// transforms one of them and updates all (alternating updates, AltUp). A low-rank map runs parallel to attention (LAuReL). Each layer has
// an embedding of each token of its own. The last layers take the keys and values of earlier ones.
type streamed struct {
	*decoder
	streams, active    int             // how many streams there are, and which of them the layers transform
	rank               int             // of the map parallel to attention
	again, tokensAgain int             // columns of the layers' token embeddings, and how many tokens have one
	corrects           bool            // the active stream is scaled before the layer's token embedding is added (altup_correct_scale)
	inners             []int           // inner width of the feed-forward part of each layer
	sparsity           []float64       // the fraction of activations that become 0 in each layer's feed-forward part; 0: all stay
	source             func(i int) int // the layer whose keys and values layer i uses: i itself, or an earlier one
}

// gemma3nWhole is the published form of Gemma 3n, which takes texts, images and sounds. Only texts are supported.
func gemma3nWhole(c *published) *Model {
	t := c.Part("text_config")
	if t == nil {
		c.Failf("field \"text_config\" is missing")
		return nil
	}
	c.Ignore("vision_config", "audio_config", "audio_soft_tokens_per_image", "vision_soft_tokens_per_image", "boi_token_id", "eoi_token_id", "image_token_id",
		"boa_token_id", "eoa_token_id", "audio_token_id", "initializer_range")
	c.Is("tie_word_embeddings", true)
	return gemma3n(&published{Config: t, set: c.set})
}

// gemma3n is Gemma 3n of text alone.
func gemma3n(c *published) *Model {
	inners := c.Ints("intermediate_size", c.count("num_hidden_layers", 0))
	c.Put("intermediate_size", max(1, inners[0]))
	d := decoderOf(c)
	gemma(c, d)
	d.plusOne, d.scale, d.headNorm = false, 1, true
	if !c.Has("final_logit_softcapping") {
		d.logitCap = 30
	}
	d.windows(c, func(layer int) bool { return (layer+1)%5 != 0 })
	d.turnWindows(c, 10000, 1000000)
	s := &streamed{
		decoder: d, streams: c.Int("altup_num_inputs", 4), active: c.Natural("altup_active_idx", 0), rank: c.Int("laurel_rank", 64),
		again: c.Int("hidden_size_per_layer_input", 256), tokensAgain: c.Int("vocab_size_per_layer_input", 262144), corrects: c.Bool("altup_correct_scale", true),
		sparsity: c.Numbers("activation_sparsity_pattern"), inners: inners,
	}
	c.Ignore("altup_coef_clip") // used in training only
	if !c.Has("activation_sparsity_pattern") {
		s.sparsity = make([]float64, d.layers)
		if d.layers > 10 {
			copy(s.sparsity, slices.Repeat([]float64{0.95}, 10))
		}
	}
	shared := c.Natural("num_kv_shared_layers", 15)
	if shared >= d.layers || s.active >= s.streams || len(s.sparsity) != d.layers {
		c.Failf("%d of %d layers share keys, stream %d of %d is read, and there are %d numbers of sparsity", shared, d.layers, s.active, s.streams, len(s.sparsity))
	}
	for _, p := range s.sparsity {
		if !(p >= 0 && p < 1) {
			c.Failf("field \"activation_sparsity_pattern\" has %v, where parts of 1 are expected", p)
		}
	}
	s.source = func(i int) int {
		if i < d.layers-shared {
			return i
		}
		for j := d.layers - shared - 1; j >= 0; j-- {
			if (d.window(j) > 0) == (d.window(i) > 0) {
				return j
			}
		}
		return -1
	}
	for i := range d.layers {
		if s.source(i) < 0 {
			c.Failf("layer %d shares the keys of an earlier one of its kind, and there is none", i)
			break
		}
	}
	return s.model(c)
}

// model returns the language model. It refuses texts with tokens that stand for images and sounds.
func (s *streamed) model(c *published) *Model {
	src := c.source("embed_tokens.weight", "model.language_model.", "language_model.model.", "model.", "")
	out := &Model{Context: s.context, Vocabulary: s.vocabulary, Layers: s.layers}
	if s.tokensAgain < s.vocabulary {
		out.Refuse = func(text []float64) error {
			for i, id := range text {
				if id >= float64(s.tokensAgain) {
					return fmt.Errorf("token %d of the text is %v: those from %d on stand for images and sounds", i, id, s.tokensAgain)
				}
			}
			return nil
		}
	}
	unused := []string{"rotary_emb.inv_freq", "vision_tower.", "audio_tower.", "embed_vision.", "embed_audio."}
	for i := range s.layers {
		if s.source(i) != i {
			for _, name := range []string{"k_proj", "v_proj", "k_norm", "v_norm"} {
				unused = append(unused, layer(i, "self_attn."+name))
			}
		}
	}
	return out.writes(src, func(n *net) graph.Value {
		ids := n.ids()
		x := n.Mul(n.embed(ids, "embed_tokens", s.vocabulary, s.width), n.Number(s.embedScale))
		told := s.told(n, ids, x)
		all := s.spread(n, x)
		keys, values := make([]graph.Value, s.layers), make([]graph.Value, s.layers)
		for i := range s.layers {
			all = s.layer(n, i, all, n.Reshape(n.SliceAxis(told, 1, i, 1, 1), []int{n.tokens, s.again}), keys, values)
		}
		x = n.normalise(s.norm, s.gather(n, all), s.last, s.eps, false)
		x = n.logits(x, "lm_head.weight", "embed_tokens.weight", s.vocabulary, s.tied)
		if s.logitCap != 0 {
			x = n.softCap(x, s.logitCap)
		}
		return x
	}, unused...)
}

// told returns the token embeddings of all layers, of shape [tokens, layers, again]: a sum of rows of a table, and of a projection of
// the token embeddings x.
func (s *streamed) told(n *net, ids, x graph.Value) graph.Value {
	shape := []int{n.tokens, s.layers, s.again}
	table := n.Mul(n.embed(ids, "embed_tokens_per_layer", s.tokensAgain, s.layers*s.again), n.Number(math.Sqrt(float64(s.again)/2)))
	own := n.Mul(n.linear(x, "per_layer_model_projection", s.layers*s.again, false), n.Number(scaleOf(s.width)))
	own = n.rms(n.Reshape(own, shape), "per_layer_projection_norm", s.eps, false)
	return n.Add(n.Reshape(table, shape), n.Mul(own, n.Number(math.Sqrt(0.5))))
}

// leastSize is a lower bound of the root mean square that the rows of a projected stream are divided by (sized).
var leastSize = math.Sqrt(1e-5)

// size returns the root mean square of each row of x, of shape [rows, 1], and the rows divided by it. It computes the root mean square as
// the mean of the products of a row and the divided row. The square root of a rounded sum of squares would be less precise: for small sums
// its error is up to the root of a unit.
func (n *net) size(x graph.Value) (size, unit graph.Value) {
	if !n.Valid(x) {
		return x, x
	}
	rows, width := n.Shape(x)[0], n.Shape(x)[1]
	unit = n.Norm(graph.Norm{Axes: []int{1}, Epsilon: 1e-12}, x)
	product := n.MatMul(n.Reshape(x, []int{rows, 1, width}), n.Reshape(unit, []int{rows, width, 1}))
	return n.Mul(n.Reshape(product, []int{rows, 1}), n.Number(1/float64(width))), unit
}

// sized scales each row of y to the root mean square size, of shape [rows, 1]. A row of y whose own root mean square is below leastSize is
// divided by leastSize instead, so that its result is smaller.
func (n *net) sized(y, size graph.Value) graph.Value {
	own, unit := n.size(y)
	small := n.Clip(n.Mul(own, n.Number(1/leastSize)), 0, 1)
	return n.Mul(unit, n.Mul(size, small))
}

// spread returns the streams of the token embeddings x, of shape [tokens, streams, width]: x itself, and projections of x, scaled to the
// same root mean square.
func (s *streamed) spread(n *net, x graph.Value) graph.Value {
	list := []graph.Value{x}
	size, _ := n.size(x)
	for i := range s.streams - 1 {
		list = append(list, n.sized(n.linear(x, fmt.Sprintf("altup_projections.%d", i), s.width, false), size))
	}
	return n.Reshape(n.Concat(1, list...), []int{n.tokens, s.streams, s.width})
}

// gather returns the mean of the streams, of shape [tokens, width]. All streams but the first are projected and scaled to the first one's
// root mean square.
func (s *streamed) gather(n *net, all graph.Value) graph.Value {
	x := s.stream(n, all, 0)
	sum := x
	size, _ := n.size(x)
	for i := range s.streams - 1 {
		sum = n.Add(sum, n.sized(n.linear(s.stream(n, all, i+1), fmt.Sprintf("altup_unembed_projections.%d", i), s.width, false), size))
	}
	return n.Mul(sum, n.Number(1/float64(s.streams)))
}

// stream is stream i of all, of shape [tokens, width].
func (s *streamed) stream(n *net, all graph.Value, i int) graph.Value {
	return n.Reshape(n.SliceAxis(all, 1, i, 1, 1), []int{n.tokens, s.width})
}

// layer is layer i. It first predicts all streams as mixtures of the streams in all. The active stream of the prediction goes through
// attention and the feed-forward part. All streams are then corrected by multiples of the difference between this result and the
// prediction. At last a term with the layer's token embedding told is added to all streams but the first. keys and values are those of the
// layers so far.
func (s *streamed) layer(n *net, i int, all, told graph.Value, keys, values []graph.Value) graph.Value {
	at := func(name string) string { return layer(i, name) }
	norm := func(x graph.Value, name string) graph.Value { return n.rms(x, at(name), s.eps, false) }
	// modes returns numbers for each token, from which coefficients of the streams are computed.
	modes := func(x graph.Value) graph.Value {
		x = n.Mul(norm(x, "altup.router_norm"), n.Number(1/float64(s.width)))
		return n.Apply(graph.Tanh, n.linear(x, at("altup.modality_router"), s.streams, false))
	}
	mix := n.linear(modes(s.stream(n, all, s.active)), at("altup.prediction_coefs"), s.streams*s.streams, false)
	all = n.Add(all, n.MatMul(n.Reshape(mix, []int{n.tokens, s.streams, s.streams}), all))
	read := s.stream(n, all, s.active)

	x := norm(read, "input_layernorm")
	around := n.linear(n.linear(x, at("laurel.linear_left"), s.rank, false), at("laurel.linear_right"), s.width, false)
	around = n.Add(x, norm(around, "laurel.post_laurel_norm"))
	y := n.Add(read, norm(s.attention(n, i, x, keys, values), "post_attention_layernorm"))
	y = n.Mul(n.Add(y, around), n.Number(math.Sqrt(0.5)))
	y = n.Add(y, norm(s.feed(n, i, norm(y, "pre_feedforward_layernorm")), "post_feedforward_layernorm"))

	by := n.Add(n.linear(modes(y), at("altup.correction_coefs"), s.streams, false), n.Number(1))
	found := n.Sub(y, read)
	all = n.Add(all, n.Mul(n.Reshape(by, []int{n.tokens, s.streams, 1}), n.Reshape(found, []int{n.tokens, 1, s.width})))

	x = s.stream(n, all, s.active)
	if s.corrects {
		x = n.Mul(x, n.weight(at("altup.correct_output_scale"), []int{s.width}))
	}
	x = n.Mul(n.activate(s.act, n.linear(x, at("per_layer_input_gate"), s.again, false)), told)
	x = norm(n.linear(x, at("per_layer_projection"), s.width, false), "post_per_layer_input_norm")
	others := filled(s.streams, func(i int) float32 { return float32(min(i, 1)) }) // all but the first
	return n.Add(all, n.Mul(n.Reshape(x, []int{n.tokens, 1, s.width}), n.table("other streams", []int{1, s.streams, 1}, others, true)))
}

// attention is the attention of layer i. If the layer has keys and values of its own, attention stores them in keys[i] and values[i] for
// later layers; otherwise it takes those of layer s.source(i).
func (s *streamed) attention(n *net, i int, x graph.Value, keys, values []graph.Value) graph.Value {
	at := layer(i, "self_attn.")
	norm := func(x graph.Value, which string) graph.Value { return n.rms(x, at+which+"_norm", s.eps, false) }
	q := n.linear(x, at+"q_proj", s.heads*s.dim, s.qkvBias)
	a := attention{
		name: at + "attention", heads: s.heads, groups: s.groups, dim: s.dim, scale: 1, cap: s.scoreCap, causal: true, window: s.window(i), rope: s.rope(i), turned: true,
		each: norm,
	}
	from := s.source(i)
	if from == i {
		shape := []int{n.tokens, s.groups, s.dim}
		k := norm(n.Reshape(n.linear(x, at+"k_proj", s.groups*s.dim, s.qkvBias), shape), "k")
		n.At("", at+"k_norm")
		k = n.turn(a.rope, k, 1)
		v := n.Reshape(n.linear(x, at+"v_proj", s.groups*s.dim, s.qkvBias), shape)
		v = n.Norm(graph.Norm{Axes: []int{2}, Epsilon: s.eps}, v)
		flat := []int{n.tokens, s.groups * s.dim}
		keys[i], values[i] = n.Reshape(k, flat), n.Reshape(v, flat)
	}
	return n.linear(n.attend(a, q, keys[from], values[from]), at+"o_proj", s.width, s.outBias)
}

// feed is the feed-forward part of layer i. In a layer with sparsity p, the inputs of the activation become max(0, x − mean − z·deviation),
// where z is the p-quantile of the standard normal distribution: so about a fraction p of them is 0.
func (s *streamed) feed(n *net, i int, x graph.Value) graph.Value {
	at := layer(i, "mlp.")
	gate, up := n.linear(x, at+"gate_proj", s.inners[i], false), n.linear(x, at+"up_proj", s.inners[i], false)
	if p := s.sparsity[i]; p > 0 && n.Valid(gate) {
		n.At("", at+"gate_proj")
		gate = n.Sub(gate, n.Reduce(graph.Mean, gate, []int{1}, true))
		deviation, _ := n.size(gate)
		gate = n.Apply(graph.Relu, n.Sub(gate, n.Mul(deviation, n.Number(quantile(p)))))
	}
	return n.linear(n.Mul(n.activate(s.act, gate), up), at+"down_proj", s.width, false)
}

// quantile is the p-quantile of the standard normal distribution, which it finds by bisection.
func quantile(p float64) float64 {
	lo, hi := -10.0, 10.0
	for range 100 {
		mid := (lo + hi) / 2
		if 0.5+float64(0.5*elementary.Erf(mid/math.Sqrt2)) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
