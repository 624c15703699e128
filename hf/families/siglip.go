package families

import "github.com/prove-model/prove-model/graph"

// SigLIP's towers are CLIP's, with other embeddings and heads. The state of the last token, padding included, stands for a text. The
// result of an attention of a learned query to the patches stands for an image.

func siglipTexts(c *published) *tower {
	return textsOf(c, "gelu_pytorch_tanh", 1e-6)
}

func siglipPictures(c *published) *tower {
	t := picturesOf(c, "gelu_pytorch_tanh", 1e-6)
	t.head = c.Bool("vision_use_head", true)
	return t
}

// sentence returns the row that stands for a text, from the states of its tokens.
func (t *tower) sentence(n *net, states graph.Value) graph.Value {
	head := t.name + "head"
	return n.linear(n.SliceAxis(states, 0, n.tokens-1, 1, 1), head, rowsOf(n.src.set, head+".weight"), true)
}

// patched returns the states of an image, and the row that stands for it if there is a head.
func (t *tower) patched(n *net) (states, row graph.Value) {
	at := t.name + "embeddings."
	x := n.patches(t.channels, t.side, t.patch, at+"patch_embedding", t.width, true)
	x = n.Add(x, n.weight(at+"position_embedding.weight", []int{t.side / t.patch * (t.side / t.patch), t.width}))
	x = n.layerNorm(t.run(n, x), t.name+"post_layernorm", t.eps)
	if !t.head {
		return x, graph.Value{}
	}
	head := t.name + "head."
	n.At("", head+"attention")
	w, b := n.weight(head+"attention.in_proj_weight", []int{3 * t.width, t.width}), n.weight(head+"attention.in_proj_bias", []int{3 * t.width})
	part := func(x graph.Value, i int) graph.Value {
		return n.Gemm(rowwise, x, n.SliceAxis(w, 0, i*t.width, 1, t.width), n.SliceAxis(b, 0, i*t.width, 1, t.width))
	}
	probe := n.Reshape(n.weight(head+"probe", []int{1, 1, t.width}), []int{1, t.width})
	a := attention{name: head + "attention", heads: t.heads, groups: t.heads, dim: t.width / t.heads, scale: scaleOf(t.width / t.heads)}
	y := n.linear(n.attend(a, part(probe, 0), part(x, 1), part(x, 2)), head+"attention.out_proj", t.width, true)
	return x, n.Add(y, t.feed(n, n.layerNorm(y, head+"layernorm", t.eps), head))
}

// siglipText is SigLIP's encoder of texts alone. A graph takes only texts of the length that it was built for.
func siglipText(c *published) *Model {
	t := siglipTexts(c)
	out := &Model{Context: t.context, Vocabulary: t.vocabulary, Layers: t.layers, Fixed: true}
	return out.builds(c.source(""), func(n *net) {
		n.Output(TextEmbeds, t.sentence(n, t.text(n, t.embeddings(n, n.several(1)))))
	}, idsOfPositions)
}

// siglipVision is SigLIP's encoder of images alone. Its output is the row that stands for the image, or, without a head, the states of the
// patches.
func siglipVision(c *published) *Model {
	t := siglipPictures(c)
	return (&Model{Layers: t.layers}).builds(c.source(""), func(n *net) {
		if states, row := t.patched(n); t.head {
			n.Output(ImageEmbeds, row)
		} else {
			n.output("last_hidden_state", states)
		}
	}, idsOfPositions)
}

// siglip is SigLIP: it scores how well each of several texts fits an image.
func siglip(c *published) *Model {
	of, pictures, ok := bothParts(c)
	if !ok {
		return nil
	}
	t, p := siglipTexts(of), siglipPictures(pictures)
	if !p.head {
		c.Failf("field \"vision_config.vision_use_head\" is false: no row stands for an image")
	}
	out := &Model{Context: t.context, Vocabulary: t.vocabulary, Layers: t.layers + p.layers, Fixed: true, Pairs: true}
	return out.builds(c.source(""), func(n *net) {
		x := t.embeddings(n, n.several(n.picked))
		rows := n.each(func(i int) graph.Value {
			return t.sentence(n, t.text(n, n.SliceAxis(x, 0, i*n.tokens, 1, n.tokens)))
		})
		_, image := p.patched(n)
		n.match(rows, image, []int{1}, "logit_scale", "logit_bias")
	}, idsOfPositions)
}
