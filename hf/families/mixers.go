package families

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// mixers is a language model as both kinds of Mamba are: a layer computes x + mixer(RMSNorm(x)).
type mixers struct {
	context                   int // the most tokens of a text
	vocabulary, width, layers int
	eps                       float64
	tied                      bool // the output layer's matrix is that of the embeddings
}

// rates returns the rates at which states decay: −exp(A_log) for the tensor A_log of the file.
func (n *net) rates(at string, shape ...int) graph.Value {
	return n.weight(at+"A_log", shape, func(v []float32) {
		for i := range v {
			v[i] = -float32(elementary.Exp(float64(v[i])))
		}
	})
}

// model returns the language model whose mixers mix makes. at is the prefix of the names of a mixer.
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
