package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// attention describes the attention of a layer's heads.
type attention struct {
	name          string // for messages
	heads, groups int    // query heads, and key and value heads that they share
	dim           int
	value         int     // elements of a value, if not dim
	scale         float64 // of the scores
	cap           float64 // scores are cap·tanh(score/cap), if not 0
	causal        bool
	window        int // how many positions a query sees, itself included; 0: all
	around        int // how many positions a query sees on either side, if not causal; 0: all
	// bias, if set, is added to the scores of a head for the key of a position.
	bias func(head, position int) float64
	// between, if valid, is added to the scores: of shape [groups, share, tokens, tokens].
	between graph.Value
	rope    *rope // of queries and keys; nil for none
	// more, if set, returns what is added to the scores of scaled queries, of shape [groups, share, tokens, dim], and keys, of shape
	// [groups, 1, dim, tokens].
	more func(q, k graph.Value) graph.Value
	// turned says that keys are as they are compared: neither transformed nor turned here.
	turned bool
	// sinks, if valid, are scores of no key, of shape [groups, share, 1, 1], which take a part of the weights.
	sinks graph.Value
	// each, if set, transforms queries and keys before their positions are encoded.
	// x has shape [tokens, heads, dim]; which is "q" or "k".
	each func(x graph.Value, which string) graph.Value
}

// attend returns the heads' results, of shape [tokens, heads·dim], for queries of shape
// [tokens, heads·dim], keys and values of shape [tokens, groups·dim]: of the same text, or of
// another one, of any length, without mask, positions and biases.
func (n *net) attend(a attention, q, k, v graph.Value) graph.Value {
	if !n.Valid(q) || !n.Valid(k) || !n.Valid(v) {
		return graph.Value{}
	}
	n.At("", a.name)
	t, other, share := n.Shape(q)[0], n.Shape(k)[0], a.heads/a.groups
	q = n.Reshape(q, []int{t, a.heads, a.dim})
	k = n.Reshape(k, []int{other, a.groups, a.dim})
	if a.each != nil {
		if q = a.each(q, "q"); !a.turned {
			k = a.each(k, "k")
		}
		n.At("", a.name)
	}
	if a.rope != nil {
		if q = n.turn(a.rope, q, a.scale); !a.turned {
			k = n.turn(a.rope, k, 1)
		}
	} else {
		q = n.scaled(q, a.scale)
	}
	// [groups, share, tokens, dim] · [groups, 1, dim, tokens]
	q = n.Transpose(n.Reshape(q, []int{t, a.groups, share, a.dim}), []int{1, 2, 0, 3})
	k = n.Transpose(n.Reshape(k, []int{other, a.groups, 1, a.dim}), []int{1, 2, 3, 0})
	if a.value == 0 {
		a.value = a.dim
	}
	v = n.Transpose(n.Reshape(v, []int{other, a.groups, 1, a.value}), []int{1, 2, 0, 3})
	scores := n.MatMul(q, k)
	if a.cap != 0 {
		scores = n.softCap(scores, a.cap)
	}
	if a.bias != nil {
		scores = n.Add(scores, n.biases(a))
	}
	if a.more != nil {
		scores = n.Add(scores, a.more(q, k))
	}
	if n.Valid(a.between) {
		scores = n.Add(scores, a.between)
	}
	if mask, ok := n.mask(a); ok {
		scores = n.Where(mask, scores, n.Number(-1e30)) // a mask, which the graph recognises
	}
	weights := scores
	if n.Valid(a.sinks) {
		sinks := n.Expand(a.sinks, []int{a.groups, share, t, 1})
		weights = n.SliceAxis(n.Softmax(n.Concat(3, scores, sinks), 3), 3, 0, 1, other)
	} else {
		weights = n.Softmax(scores, 3)
	}
	out := n.MatMul(weights, v)
	return n.Reshape(n.Transpose(out, []int{2, 0, 1, 3}), []int{t, a.heads * a.value})
}

// softCap is cap·tanh(x/cap).
func (n *net) softCap(x graph.Value, limit float64) graph.Value {
	return n.Mul(n.Apply(graph.Tanh, n.Mul(x, n.Number(1/limit))), n.Number(limit))
}

// mask returns the mask of the keys that each query attends to; ok is false if that
// is all keys.
func (n *net) mask(a attention) (mask graph.Value, ok bool) {
	t := n.tokens
	if !a.causal && a.around == 0 {
		return mask, false
	}
	name := fmt.Sprintf("mask/%d", a.window)
	if !a.causal {
		name = fmt.Sprintf("mask/±%d", a.around)
	}
	return n.once(name, func() *graph.Tensor {
		return &graph.Tensor{Shape: []int{t, t}, DType: graph.Bool, I64: filled(t*t, func(at int) int64 {
			back := at/t - at%t
			if a.causal && back >= 0 && (a.window == 0 || back < a.window) || !a.causal && max(back, -back) <= a.around {
				return 1
			}
			return 0
		})}
	}), true
}

// biases returns the bias of every head and key, of shape [groups, share, 1, tokens].
func (n *net) biases(a attention) graph.Value {
	v := filled(n.tokens*a.heads, func(at int) float32 { return float32(a.bias(at%a.heads, at/a.heads)) })
	rows := n.table("biases", []int{n.tokens, a.heads}, v, true)
	return n.Reshape(n.Transpose(rows, []int{1, 0}), []int{a.groups, a.heads / a.groups, 1, n.tokens})
}

// alibi returns the slopes of ALiBi (Press et al. 2021, https://arxiv.org/abs/2108.12409), which a position is
// multiplied by: for 2^k heads 2^(−8i/2^k), i from 1 on; for others those of the power of two below, and of the next
// one every second.
//
// There are no more heads than embeddings have numbers, by which the weights bound what a configuration says.
func (s *source) alibi(c *published, heads int, embeddings string) []float64 {
	if w := s.set.Get(s.prefix + embeddings); w == nil || len(w.Shape) != 2 || heads > w.Shape[1] {
		c.Failf("%d heads with ALiBi are more than the embeddings in the weights, %s, have numbers", heads, graph.Quote(s.prefix+embeddings))
		return nil
	}
	power := 1
	for 2*power <= heads {
		power *= 2
	}
	out := make([]float64, 0, heads)
	for i := range power {
		out = append(out, elementary.Pow(2, -8*float64(i+1)/float64(power)))
	}
	for i := 0; len(out) < heads; i++ {
		out = append(out, elementary.Pow(2, -4*float64(2*i+1)/float64(power)))
	}
	return out
}
