package families

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/elementary"
)

// tower is the encoder of texts or of images of CLIP or SigLIP: layers with norms before each part.
type tower struct {
	name                        string // prefix of the names of its tensors
	width, inner, heads, layers int
	eps                         float64
	act                         activation
	causal                      bool

	vocabulary, context, end int  // of texts: the most tokens, and the token that ends a text, whose state is the text's embedding
	side, patch, channels    int  // of images
	head                     bool // of images, in SigLIP: an attention layer makes one vector of the patches
}

// towerOf reads the fields that the configurations of texts and of images share. name is the prefix of the tensors' names if the file has
// the given tensor under it, and act and eps are defaults.
func towerOf(c *published, name, tensor string, act string, eps float64) *tower {
	t := &tower{
		width: c.Int("hidden_size", 768), inner: c.Int("intermediate_size", 3072), heads: c.Int("num_attention_heads", 12),
		layers: c.count("num_hidden_layers", 12), eps: c.Float("layer_norm_eps", eps), act: activationOf(c, "hidden_act", act),
	}
	if c.set.Get(name+tensor) != nil {
		t.name = name
	}
	c.evenly(t.heads, t.width)
	c.Ignore("projection_dim", "projection_size")
	return t
}

// textsOf reads the configuration of an encoder of texts.
func textsOf(c *published, act string, eps float64) *tower {
	t := towerOf(c, "text_model.", "embeddings.token_embedding.weight", act, eps)
	t.vocabulary, t.context = c.Int("vocab_size", 49408), c.Int("max_position_embeddings", 77)
	return t
}

// picturesOf reads the configuration of an encoder of images.
func picturesOf(c *published, act string, eps float64) *tower {
	t := towerOf(c, "vision_model.", "embeddings.patch_embedding.weight", act, eps)
	t.side, t.patch, t.channels = c.Int("image_size", 224), c.Int("patch_size", 32), c.Int("num_channels", 3)
	c.patches(t.patch, t.side)
	return t
}

// clipTexts is CLIP's encoder of texts.
func clipTexts(c *published) *tower {
	t := textsOf(c, "quick_gelu", 1e-5)
	t.causal = true
	// The state of a text's first end token stands for the text. Old files have 2 in this field; for these the published code takes the
	// state of the token with the greatest id, which is the end token too.
	if t.end = int(c.Float("eos_token_id", 49407)); t.end == 2 {
		t.end = t.vocabulary - 1
	}
	if t.end < 0 || t.end >= t.vocabulary {
		c.Failf("texts end with token %d of %d", t.end, t.vocabulary)
		t.end = 0
	}
	return t
}

// ended returns an error for a text without the end token.
func (t *tower) ended(text []float64) error {
	if !slices.Contains(text, float64(t.end)) {
		return fmt.Errorf("the text has no token %d, with which texts of this model end and whose row stands for them", t.end)
	}
	return nil
}

// run applies the layers to x, of shape [tokens or patches, width].
func (t *tower) run(n *net, x graph.Value) graph.Value {
	a := attention{heads: t.heads, groups: t.heads, dim: t.width / t.heads, scale: scaleOf(t.width / t.heads), causal: t.causal}
	for i := range t.layers {
		at := t.name + "encoder." + layer(i, "")
		y := n.layerNorm(x, at+"layer_norm1", t.eps)
		self := at + "self_attn."
		q, k, v := n.linear(y, self+"q_proj", t.width, true), n.linear(y, self+"k_proj", t.width, true), n.linear(y, self+"v_proj", t.width, true)
		a.name = self + "attention"
		x = n.Add(x, n.linear(n.attend(a, q, k, v), self+"out_proj", t.width, true))
		x = n.Add(x, t.feed(n, n.layerNorm(x, at+"layer_norm2", t.eps), at))
	}
	return x
}

func (t *tower) feed(n *net, x graph.Value, at string) graph.Value {
	return n.linear(n.activate(t.act, n.linear(x, at+"mlp.fc1", t.inner, true)), at+"mlp.fc2", t.width, true)
}

// text returns the last states of a text from the embeddings of its tokens.
func (t *tower) text(n *net, x graph.Value) graph.Value {
	x = n.Add(x, n.positions(t.name+"embeddings.position_embedding", t.context, t.width, 0))
	return n.layerNorm(t.run(n, x), t.name+"final_layer_norm", t.eps)
}

// embeddings returns the embeddings of the tokens ids, of shape [ids, width].
func (t *tower) embeddings(n *net, ids graph.Value) graph.Value {
	return n.embed(ids, t.name+"embeddings.token_embedding", t.vocabulary, t.width)
}

// last returns the row of x, of shape [tokens, width], that belongs to the first end token of the text. ends, of shape [tokens, 1], is 1
// where a token is the end token and 0 elsewhere. The row is chosen by a product with a one-hot vector.
func (t *tower) last(n *net, x, ends graph.Value) graph.Value {
	n.At("", "end")
	earlier := n.MatMul(n.band("before", func(t, s int) bool { return s < t }), ends) // how many end tokens are before each token
	first := n.Apply(graph.Relu, n.Sub(ends, earlier))                                // 1 at the first end alone
	return n.MatMul(n.Reshape(first, []int{1, n.tokens}), x)
}

// ends returns 1 for each of the ids that is the end token, and 0 for others, of shape [ids, 1].
func (t *tower) ends(n *net, ids graph.Value) graph.Value {
	v := make([]float32, t.vocabulary)
	v[t.end] = 1
	return n.Take(n.table("ends", []int{t.vocabulary, 1}, v, true), 0, ids)
}

// picture returns the states of CLIP's class token and patches, and the row that stands for the image: the normalised state of the class
// token.
func (t *tower) picture(n *net) (states, row graph.Value) {
	at := t.name + "embeddings."
	x := n.patches(t.channels, t.side, t.patch, at+"patch_embedding", t.width, false)
	x = n.Concat(0, n.Reshape(n.weight(at+"class_embedding", []int{t.width}), []int{1, t.width}), x)
	x = n.Add(x, n.weight(at+"position_embedding.weight", []int{1 + t.side/t.patch*(t.side/t.patch), t.width}))
	x = t.run(n, n.layerNorm(x, t.name+"pre_layrnorm", t.eps))
	return x, n.layerNorm(n.SliceAxis(x, 0, 0, 1, 1), t.name+"post_layernorm", t.eps)
}

// rowsOf is the number of rows of a matrix of the file; it is 1 if there is no such matrix.
func rowsOf(set weights.Set, name string) int {
	if w := set.Get(name); w != nil && len(w.Shape) == 2 {
		return w.Shape[0]
	}
	return 1 // the missing tensor is refused when it is loaded
}

const idsOfPositions = "embeddings.position_ids"

// clipText is CLIP's encoder of texts alone. Its output is the embedding of a text if there is a projection, and otherwise the states.
func clipText(c *published) *Model {
	t := clipTexts(c)
	const projection = "text_projection.weight"
	out := &Model{Context: t.context, Vocabulary: t.vocabulary, Layers: t.layers}
	if c.set.Get(projection) == nil {
		return out.builds(c.source(""), func(n *net) {
			n.output("last_hidden_state", t.text(n, t.embeddings(n, n.ids())))
		}, idsOfPositions)
	}
	out.Refuse, out.Fixed = t.ended, true
	return out.builds(c.source(""), func(n *net) {
		ids := n.several(1)
		x := t.text(n, t.embeddings(n, ids))
		n.Output(TextEmbeds, n.linear(t.last(n, x, t.ends(n, ids)), "text_projection", rowsOf(c.set, projection), false))
	}, idsOfPositions)
}

// clipVision is CLIP's encoder of images alone. Its output is the embedding of an image if there is a projection, and otherwise the states.
func clipVision(c *published) *Model {
	t := picturesOf(c, "quick_gelu", 1e-5)
	const projection = "visual_projection.weight"
	return (&Model{Layers: t.layers}).builds(c.source(""), func(n *net) {
		if states, row := t.picture(n); c.set.Get(projection) != nil {
			n.Output(ImageEmbeds, n.linear(row, "visual_projection", rowsOf(c.set, projection), false))
		} else {
			n.output("last_hidden_state", states)
		}
	}, idsOfPositions, t.name+"post_layernorm")
}

// Names of outputs of models of texts and images.
const (
	TextEmbeds     = "text_embeds"
	ImageEmbeds    = "image_embeds"
	LogitsPerImage = "logits_per_image"
)

// bothParts returns the configurations of the encoders of texts and of images. ok is false if one is missing.
func bothParts(c *published) (texts, images *published, ok bool) {
	t, i := c.Part("text_config"), c.Part("vision_config")
	if ok = t != nil && i != nil; !ok {
		c.Failf("fields \"text_config\" and \"vision_config\" are both needed")
	}
	return &published{Config: t, set: c.set}, &published{Config: i, set: c.set}, ok
}

// clip is CLIP: it scores how well each of several texts fits an image.
func clip(c *published) *Model {
	of, pictures, ok := bothParts(c)
	if !ok {
		return nil
	}
	t, p := clipTexts(of), picturesOf(pictures, "quick_gelu", 1e-5)
	dim := c.Int("projection_dim", 512)
	c.Ignore("logit_scale_init_value")
	out := &Model{Context: t.context, Vocabulary: t.vocabulary, Layers: t.layers + p.layers, Fixed: true, Pairs: true, Refuse: t.ended}
	return out.builds(c.source(""), func(n *net) {
		ids := n.several(n.picked)
		x, ends := t.embeddings(n, ids), t.ends(n, ids)
		rows := n.each(func(i int) graph.Value {
			return t.last(n, t.text(n, n.SliceAxis(x, 0, i*n.tokens, 1, n.tokens)), n.SliceAxis(ends, 0, i*n.tokens, 1, n.tokens))
		})
		_, image := p.picture(n)
		n.match(n.linear(rows, "text_projection", dim, false), n.linear(image, "visual_projection", dim, false), nil, "logit_scale", "")
	}, idsOfPositions)
}

// several adds the input of the token ids of several texts of the same length, and returns them in one axis, of shape [texts·tokens].
func (n *net) several(texts int) graph.Value {
	texts = max(texts, 1)
	return n.Reshape(n.Input(IDs, graph.Int64, []int{texts, n.tokens}), []int{texts * n.tokens})
}

// each returns the rows of all texts, of shape [texts, columns]; row(i) is that of text i.
func (n *net) each(row func(i int) graph.Value) graph.Value {
	return n.Concat(0, filled(max(n.picked, 1), row)...)
}

// match makes the outputs of a model of texts and an image. texts, with one row a text, and image are scaled to length 1. The logit of
// a text is the product of its row and the image's, times exp of the tensor called scale, plus the tensor called shift unless that is "".
// Both tensors have one element, and the shape of.
func (n *net) match(texts, image graph.Value, of []int, scale, shift string) {
	if !n.Valid(texts) || !n.Valid(image) {
		return
	}
	one := func(name string) float64 { return float64(n.src.load(name, of).Floats()[0]) }
	n.At("", LogitsPerImage)
	unit := graph.Norm{Axes: []int{1}, Sum: true}
	texts, image = n.Norm(unit, texts), n.Norm(unit, image)
	y := n.caught(func() graph.Value {
		y := n.Mul(n.Gemm(rowwise, image, texts), n.Number(elementary.Exp(one(scale))))
		if shift != "" {
			y = n.Add(y, n.Number(one(shift)))
		}
		return y
	})
	n.Output(LogitsPerImage, y)
	n.Output(TextEmbeds, texts)
	n.Output(ImageEmbeds, image)
}
