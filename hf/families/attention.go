package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// attention describes the attention of a layer's heads.
type attention struct {
	name          string  // for messages
	heads, groups int     // query heads, and key and value heads; heads/groups query heads share a key and a value head
	dim           int     // elements of a query or key
	value         int     // elements of a value; 0: dim
	scale         float64 // scores are multiplied by it
	cap           float64 // scores become cap·tanh(score/cap), if not 0
	causal        bool    // a query sees only keys up to its own position
	window        int     // how many positions a query sees, itself included; 0: all
	around        int     // how many positions a query sees on either side, if not causal; 0: all
	// bias, if set, is added to the scores of a head for the key at a position.
	bias func(head, position int) float64
	// between, if valid, is added to the scores. Its shape is [groups, share, tokens, tokens], where share is heads/groups.
	between graph.Value
	rope    *rope // of queries and keys; nil for none
	// more, if set, returns a term that is added to the scores. Its arguments are the scaled queries, of shape [groups, share, tokens, dim],
	// and the keys, of shape [groups, 1, dim, tokens].
	more func(q, k graph.Value) graph.Value
	// turned says that the keys already went through each and rope, which then apply to the queries only.
	turned bool
	// sinks, if valid, has a score of each head for an extra key without a value, of shape [groups, share, 1, 1] (an attention sink). It
	// takes a part of the weights of the Softmax.
	sinks graph.Value
	// each, if set, transforms queries and keys before their positions are encoded.
	// x has shape [tokens, heads, dim]; which is "q" or "k".
	each func(x graph.Value, which string) graph.Value
}

// attend returns the heads' results, of shape [tokens, heads·value], for queries of shape
// [tokens, heads·dim], keys of shape [tokens, groups·dim] and values of shape [tokens, groups·value].
// Keys and values may be those of another text of any length (cross-attention), if there is no
// mask, rope or bias.
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

// mask returns the mask of the keys that each query attends to, of shape [tokens, tokens]: 1 at (query, key)
// where it does. ok is false if every query attends to all keys.
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

// biases returns a.bias for every head and key, of shape [groups, share, 1, tokens].
func (n *net) biases(a attention) graph.Value {
	v := filled(n.tokens*a.heads, func(at int) float32 { return float32(a.bias(at%a.heads, at/a.heads)) })
	rows := n.table("biases", []int{n.tokens, a.heads}, v, true)
	return n.Reshape(n.Transpose(rows, []int{1, 0}), []int{a.groups, a.heads / a.groups, 1, n.tokens})
}

// alibi returns the slope of each head in ALiBi (Press et al. 2021, https://arxiv.org/abs/2108.12409); the bias of a
// score is the slope times the key's position. For 2^k heads the slopes are 2^(−8i/2^k) for i from 1 on. For another number of
// heads they are those for the next smaller power of two, followed by every second one of those for the next larger.
//
// It records an error for more heads than embeddings, the name of the embeddings' tensor, has columns. So the size of the
// weights bounds what a configuration can ask for.
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
