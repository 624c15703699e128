package families

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// mixers are the layers of both kinds of Mamba: each adds to its input what a mixer makes of the norm of it.
type mixers struct {
	context                   int // the most tokens of a text
	vocabulary, width, layers int
	eps                       float64
	tied                      bool // logits are products with the embeddings
}

// rates are those at which states decay, by the negative logarithms that a file has.
func (n *net) rates(at string, shape ...int) graph.Value {
	return n.weight(at+"A_log", shape, func(v []float32) {
		for i := range v {
			v[i] = -float32(elementary.Exp(float64(v[i])))
		}
	})
}

// model is the model whose mixers mix makes, of the weights.
func (m mixers) model(c *published, mix func(n *net, x graph.Value, at string) graph.Value) *Model {
	src := c.source("embeddings.weight", "backbone.", "")
	return (&Model{Context: m.context, Vocabulary: m.vocabulary, Layers: m.layers, Fixed: true}).writes(src, func(n *net) graph.Value {
		x := n.embed(n.several(1), "embeddings", m.vocabulary, m.width)
		for i := range m.layers {
			at := layer(i, "")
			x = n.Add(x, mix(n, n.rms(x, at+"norm", m.eps, false), at+"mixer."))
		}
		x = n.rms(x, "norm_f", m.eps, false)
		return n.logits(x, "lm_head.weight", "embeddings.weight", m.vocabulary, m.tied)
	})
}
