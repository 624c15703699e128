package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// imageEncoder is the part that vision transformers share. The tokens are one or more learned vectors, followed by
// the patches of an image. A norm is before attention and before the feed-forward part.
type imageEncoder struct {
	width, layers, heads, inner int
	side, patch, channels       int
	eps                         float64
	bias                        bool // of queries, keys and values
	act                         activation

	prefix                  string
	first                   []string // names of the learned tokens in front, such as the class token
	before, after, up, down string   // names in a layer: the norms before attention and after it, and the feed-forward part's layers
	gated                   bool     // the columns of up are a gate and, behind it, the factor that it multiplies
	placed, keyBias         bool     // there are position embeddings, and biases of keys
	norm                    string   // name of the norm behind all layers; "" for none
	// relative, if set, makes biases that are added to the scores of the layer whose names begin with at.
	relative func(n *net, at string) graph.Value
	factors  [2]string // names of vectors that multiply the results of attention and of the feed-forward part; "" for none
	unused   []string  // parts of names of tensors that the graph does not use
	// classes makes the logits from the last hidden state; nil if the model has no classifier.
	classes func(n *net, x graph.Value) graph.Value
}

// imagesOf reads the fields that the configurations of vision transformers share. eps and patch are defaults.
func imagesOf(c *published, prefix string, eps float64, patch int) *imageEncoder {
	e := &imageEncoder{
		width: c.Int("hidden_size", 0), layers: c.count("num_hidden_layers", 0), heads: c.Int("num_attention_heads", 0),
		side: c.Int("image_size", 224), patch: c.Int("patch_size", patch), channels: c.Int("num_channels", 3),
		eps: c.Float("layer_norm_eps", eps), bias: c.Bool("qkv_bias", true), act: activationOf(c, "hidden_act", "gelu"),
		prefix: prefix, first: []string{"embeddings.cls_token"}, before: "layernorm_before", after: "layernorm_after", up: "intermediate.dense", down: "output.dense",
		placed: true, norm: "layernorm",
	}
	e.keyBias = e.bias
	c.patches(e.patch, e.side)
	return e
}

// classOf returns a function that applies the linear layer of that name to a row, to get logits. It is nil if the file has no such layer.
func classOf(c *published, name string) func(*net, graph.Value) graph.Value {
	w := c.set.Get(name + ".weight")
	if w == nil || len(w.Shape) != 2 {
		return nil
	}
	return func(n *net, x graph.Value) graph.Value { return n.outside(x, name, w.Shape[0], true) }
}

// classify makes the logits those of the first token, if the file has a linear layer of that name.
func (e *imageEncoder) classify(c *published, name string) {
	if f := classOf(c, name); f != nil {
		e.classes = func(n *net, x graph.Value) graph.Value {
			n.At("", name)
			return f(n, n.SliceAxis(x, 0, 0, 1, 1))
		}
	}
}

// vit is the Vision Transformer. With a classifier the output is its logits, otherwise the last
// hidden state.
func vit(c *published) *Model { return vitOf(c, "vit.").model(c) }

// vitOf reads what ViT and DeiT share.
func vitOf(c *published, prefix string) *imageEncoder {
	e := imagesOf(c, prefix, 1e-12, 16)
	e.inner = c.Int("intermediate_size", 0)
	e.classify(c, "classifier")
	e.unused = []string{"pooler."}
	c.Ignore("encoder_stride", "pooler_output_size", "pooler_act")
	return e
}

// deit is DeiT, which has a second learned token in front. If both tokens have classifiers, the logits are the
// mean of the two.
func deit(c *published) *Model {
	e := vitOf(c, "deit.")
	e.first = append(e.first, "embeddings.distillation_token")
	if one, two := classOf(c, "cls_classifier"), classOf(c, "distillation_classifier"); one != nil && two != nil {
		e.classes = func(n *net, x graph.Value) graph.Value {
			both := n.Add(one(n, n.SliceAxis(x, 0, 0, 1, 1)), two(n, n.SliceAxis(x, 0, 1, 1, 1)))
			return n.Mul(both, n.Number(0.5))
		}
	}
	return e.model(c)
}

// dino is DINOv2, for images of the size that its positions are stored for. Its classifier takes the
// first token and the mean of the patches.
func dino(c *published) *Model {
	e := imagesOf(c, "dinov2.", 1e-6, 14)
	e.inner = int(float64(e.width) * c.Float("mlp_ratio", 4))
	e.before, e.after, e.up, e.down = "norm1", "norm2", "mlp.fc1", "mlp.fc2"
	e.factors = [2]string{"layer_scale1.lambda1", "layer_scale2.lambda1"}
	if c.Bool("use_swiglu_ffn", false) {
		e.gated, e.up, e.down, e.act = true, "mlp.weights_in", "mlp.weights_out", activations["silu"]
		e.inner = (e.inner*2/3 + 7) / 8 * 8
	}
	if e.inner < 1 || e.inner > 1<<20 {
		c.Failf("feed-forward parts of %d", e.inner)
		e.inner = 1
	}
	if f := classOf(c, "classifier"); f != nil {
		e.classes = func(n *net, x graph.Value) graph.Value {
			mean := n.Reduce(graph.Mean, n.SliceAxis(x, 0, 1, 1, n.tokens-1), []int{0}, true)
			return f(n, n.Concat(1, n.SliceAxis(x, 0, 0, 1, 1), mean))
		}
	}
	e.unused = []string{"embeddings.mask_token"}
	c.Ignore("layerscale_value", "drop_path_rate", "out_features", "_out_features", "out_indices", "_out_indices", "stage_names", "apply_layernorm",
		"reshape_hidden_states", "use_mask_token")
	return e.model(c)
}

// tokens returns the tokens of an image, of shape [tokens, width]: the learned ones and the patches, with position embeddings if there are.
func (e *imageEncoder) tokens(n *net) graph.Value {
	x := n.patches(e.channels, e.side, e.patch, "embeddings.patch_embeddings.projection", e.width, true)
	first := filled(len(e.first), func(i int) graph.Value {
		return n.Reshape(n.weight(e.first[i], []int{1, 1, e.width}), []int{1, e.width})
	})
	x = n.Concat(0, append(first, x)...)
	if !e.placed {
		return x
	}
	return n.Add(x, n.Reshape(n.weight("embeddings.position_embeddings", []int{1, n.tokens, e.width}), []int{n.tokens, e.width}))
}

// patches adds the input of an image of side² pixels, cuts it into patches of patch² pixels, and returns their embeddings, of shape
// [patches, width]. The file has the embedding as a convolution, whose stride is its kernel: a product with each patch.
func (n *net) patches(channels, side, patch int, name string, width int, bias bool) graph.Value {
	across, area := side/patch, channels*patch*patch
	x := n.Input("pixel_values", graph.Float, []int{1, channels, side, side})
	// [channels, rows, patch, columns, patch] to [rows·columns, channels·patch²]
	x = n.Transpose(n.Reshape(x, []int{channels, across, patch, across, patch}), []int{1, 3, 0, 2, 4})
	x = n.Reshape(x, []int{across * across, area})
	n.At("", name)
	w := n.Reshape(n.weight(name+".weight", []int{width, channels, patch, patch}), []int{width, area})
	if bias {
		return n.Gemm(rowwise, x, w, n.weight(name+".bias", []int{width}))
	}
	return n.Gemm(rowwise, x, w)
}

// run applies the layers, and the norm behind them, to x of shape [tokens, width].
func (e *imageEncoder) run(n *net, x graph.Value) graph.Value {
	a := attention{heads: e.heads, groups: e.heads, dim: e.width / e.heads, scale: scaleOf(e.width / e.heads)}
	for i := range e.layers {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		scaled := func(which int, y graph.Value) graph.Value {
			if e.factors[which] == "" {
				return y
			}
			return n.Mul(y, n.weight(at+e.factors[which], []int{e.width}))
		}
		y := n.layerNorm(x, at+e.before, e.eps)
		self := at + "attention.attention."
		q, k, v := n.linear(y, self+"query", e.width, e.bias), n.linear(y, self+"key", e.width, e.keyBias), n.linear(y, self+"value", e.width, e.bias)
		if e.relative != nil {
			a.between = e.relative(n, at)
		}
		a.name = at + "attention"
		x = n.Add(x, scaled(0, n.linear(n.attend(a, q, k, v), at+"attention.output.dense", e.width, true)))
		y = n.layerNorm(x, at+e.after, e.eps)
		if e.gated {
			both := n.linear(y, at+e.up, 2*e.inner, true)
			y = n.Mul(n.activate(e.act, n.columns(both, 0, e.inner)), n.columns(both, e.inner, e.inner))
		} else {
			y = n.activate(e.act, n.linear(y, at+e.up, e.inner, true))
		}
		x = n.Add(x, scaled(1, n.linear(y, at+e.down, e.width, true)))
	}
	if e.norm == "" {
		return x
	}
	return n.layerNorm(x, e.norm, e.eps)
}

// model returns the model with this encoder. Its output is the logits, or the last hidden state if it has no classifier.
func (e *imageEncoder) model(c *published) *Model {
	src := c.source("embeddings.cls_token", e.prefix, "")
	across := e.side / e.patch
	return (&Model{Layers: e.layers}).builds(src, func(n *net) {
		n.tokens = across*across + len(e.first)
		x := e.run(n, e.tokens(n))
		if e.classes == nil {
			n.output("last_hidden_state", x)
		} else {
			n.Output(Logits, e.classes(n, x))
		}
	}, e.unused...)
}
