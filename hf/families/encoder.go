package families

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// encoder is the part that BERT and models like it share. A layer is attention and a feed-forward
// part, each followed by a norm. The names of the tensors differ between families.
type encoder struct {
	width, inner, heads, layers int
	eps                         float64
	act                         activation
	layer                       func(i int) string // prefix of the names in layer i
	query, key, value, out      string             // names in a layer: of the linear layers and norms
	attentionNorm, up, down     string
	outputNorm                  string

	vocabulary, context int
	narrow              int    // columns of the token embeddings
	project             string // the linear layer from narrow to width; "" if they are equal
	normLast            bool   // the norm of the embeddings is behind project, which has no bias then; else before it
	types               int    // rows of the embeddings of token types; all tokens of a text have type 0. 0: there are none
	first               int    // row of the position embeddings for the first token
	padding             *int   // the padding token, which texts must not have (padded); nil: there is none
	// relative, if set, makes biases that are added to the scores of all layers.
	relative func(n *net) graph.Value
	// scores, if set, changes the attention of the layer whose names begin with at.
	scores func(n *net, a *attention, at string)
	placed bool   // there are position embeddings
	fixed  bool   // a graph takes only texts of the length that it was built for (Model.Fixed)
	prefix string // of names that the file may have; it may also lack it
	head   head
	unused []string // parts of names of tensors that only other heads use
}

// head is the part behind the last layer. Which one it is follows from the name in the configuration's field "architectures".
type head struct {
	kind string // "", for the last hidden state as the output, or one of those below
	// A classifier of a text applies the linear layers dense, then act, then out to the state of the first token. dense may be "".
	dense, out string
	act        activation
}

// The kinds of heads: logits of a text, logits of each token, and scores of each token for being the first or the last one of an answer.
const (
	ofText   = "ForSequenceClassification"
	ofTokens = "ForTokenClassification"
	ofAnswer = "ForQuestionAnswering"
)

// headOf reads the kind of head that the model has. The other arguments are for a classifier of texts.
func headOf(c *published, dense, out string, act activation) head {
	h := head{dense: dense, out: out, act: act}
	for _, name := range c.Texts("architectures") {
		for _, kind := range []string{ofText, ofTokens, ofAnswer} {
			if strings.HasSuffix(name, kind) {
				h.kind = kind
			}
		}
	}
	return h
}

// apply makes the model's outputs from the last hidden state x, of shape [tokens, width].
func (h head) apply(n *net, x graph.Value) {
	width := n.dim(x, 1)
	outputs := func(name string) int { return rowsOf(n.src.set, name+".weight") }
	switch h.kind {
	case ofText:
		x = n.SliceAxis(x, 0, 0, 1, 1)
		if h.dense != "" {
			x = n.activate(h.act, n.outside(x, h.dense, width, true))
		}
		n.Output(Logits, n.outside(x, h.out, outputs(h.out), true))
	case ofTokens:
		n.output(Logits, n.outside(x, "classifier", outputs("classifier"), true))
	case ofAnswer:
		x = n.outside(x, "qa_outputs", 2, true)
		for i, name := range []string{"start_logits", "end_logits"} {
			n.Output(name, n.Reshape(n.columns(x, i, 1), []int{1, n.tokens}))
		}
	default:
		n.output("last_hidden_state", x)
	}
}

// run applies the layers.
func (e *encoder) run(n *net, x graph.Value) graph.Value {
	a := attention{heads: e.heads, groups: e.heads, dim: e.width / e.heads, scale: scaleOf(e.width / e.heads)}
	if e.relative != nil {
		a.between = e.relative(n)
	}
	for i := range e.layers {
		at := e.layer(i)
		q, k, v := n.linear(x, at+e.query, e.width, true), n.linear(x, at+e.key, e.width, true), n.linear(x, at+e.value, e.width, true)
		if e.scores != nil {
			e.scores(n, &a, at)
		}
		a.name = at + "attention"
		y := n.linear(n.attend(a, q, k, v), at+e.out, e.width, true)
		x = n.layerNorm(n.Add(x, y), at+e.attentionNorm, e.eps)
		y = n.activate(e.act, n.linear(x, at+e.up, e.inner, true))
		x = n.layerNorm(n.Add(x, n.linear(y, at+e.down, e.width, true)), at+e.outputNorm, e.eps)
	}
	return x
}

// embedded returns the input of the first layer for the token embeddings x: the sum with the embeddings of positions and of the token
// type, with the norm and the projection to the layers' width.
func (e *encoder) embedded(n *net, x graph.Value) graph.Value {
	if e.placed {
		at := n.positions("embeddings.position_embeddings", e.context+e.first, e.narrow, e.first)
		x = n.Add(x, e.typed(n, at))
	} else {
		x = e.typed(n, x)
	}
	if e.project != "" && e.normLast {
		x = n.linear(x, e.project, e.width, false)
	}
	x = n.layerNorm(x, "embeddings.LayerNorm", e.eps)
	if e.project != "" && !e.normLast {
		x = n.linear(x, e.project, e.width, true)
	}
	return x
}

// typed adds the embedding of token type 0 to every row of x, if the model has token types.
func (e *encoder) typed(n *net, x graph.Value) graph.Value {
	if e.types == 0 {
		return x
	}
	return n.Add(x, n.SliceAxis(n.weight("embeddings.token_type_embeddings.weight", []int{e.types, e.narrow}), 0, 0, 1, 1))
}

// model returns the model with this encoder. It is a sentence encoder if c has modules; otherwise it has the encoder's head.
func (e *encoder) model(c *published) *Model {
	c.Ignore("tie_word_embeddings")
	src := c.source("embeddings.word_embeddings.weight", e.prefix, "")
	out := &Model{Context: e.context, Vocabulary: e.vocabulary, Layers: e.layers, Fixed: e.fixed, Refuse: e.padded()}
	return out.builds(src, func(n *net) {
		ids := n.ids
		if e.fixed {
			ids = func() graph.Value { return n.several(1) }
		}
		x := n.embed(ids(), "embeddings.word_embeddings", e.vocabulary, e.narrow)
		x = e.run(n, e.embedded(n, x))
		if c.modules == nil {
			e.head.apply(n, x)
		} else {
			n.sentence(c.modules, x)
		}
	}, append([]string{"embeddings.position_ids"}, e.unused...)...)
}

// padded returns a function that refuses texts with the padding token, or nil if there is none. The published models do not count
// padding in the positions, so the tokens behind it would have other positions than in the graph.
func (e *encoder) padded() func([]float64) error {
	if e.padding == nil {
		return nil
	}
	id := float64(*e.padding)
	return func(text []float64) error {
		if at := slices.Index(text, id); at >= 0 {
			return fmt.Errorf("token %d is %v, the model's padding: the tokens behind it would have other positions than in the published model; "+
				"leave padding out", at+1, id)
		}
		return nil
	}
}

// sentence makes the output of a sentence encoder from the last hidden state x, of shape [tokens, width]: one vector, of shape [1, width].
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
