package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// Layers of language models that carry a state along the tokens.

// lowerCausalConv is a convolution of each channel along the tokens, in which an output
// depends on its own and earlier entries only. The state is the last entries of the input
// before; the new state is those of this one.
func lowerCausalConv(o *op) {
	x, weights := o.in(0), o.in(1)
	in, sw := o.shape(x), o.shape(weights)
	o.failIf(len(in) != 3 || len(sw) != 3 || sw[0] != in[1] || sw[1] != 1 || sw[2] < 1,
		"input and weights have shapes %v and %v", in, sw)
	past := sw[2] - 1
	switch {
	case o.has(3):
		x = o.Concat(2, o.in(3), x)
	case past > 0:
		x = o.Pad(x, []int{0, 0, past}, []int{0, 0, 0}, 0)
	}
	if s := o.shape(x); s[2] != past+in[2] {
		o.failf("a state of shape %v for weights of shape %v", o.shape(o.in(3)), sw)
	}
	w := graph.Window{Kernel: []int{sw[2]}, Strides: []int{1}, Dilations: []int{1}, Begin: []int{0}, End: []int{0}}
	y := o.convolve(w, in[1], x, weights, o.optional(2)...)
	if o.wordAttr("activation", "none", "silu", "swish") != "none" {
		y = o.Apply(graph.Swish, y)
	}
	o.result(0, y)
	if o.wanted(1) {
		o.result(1, o.SliceAxis(x, 2, in[2], 1, past))
	}
}

// linearAttention has the sizes of a LinearAttention node and its update rule.
type linearAttention struct {
	*op
	batch, tokens int
	heads, keys   int // numbers of query heads, and of key and value heads, each of which serves heads/keys query heads
	dk, dv        int // entries of a head's query and key, and of its value
	gated, delta  bool
}

// updateRules says for each recurrence whether the state is multiplied by a decay before
// a token (gated), and whether the value that the state already has for the token's key
// is subtracted from its value (delta).
var updateRules = map[string]struct{ gated, delta bool }{
	"linear": {}, "gated": {gated: true}, "delta": {delta: true}, "gated_delta": {gated: true, delta: true},
}

// linearAttention reads the sizes and the rule, and checks them.
func (o *op) linearAttention() linearAttention {
	q, k, v := o.shape(o.in(0)), o.shape(o.in(1)), o.shape(o.in(2))
	heads, keys := int(o.intAttr("q_num_heads", 0)), int(o.intAttr("kv_num_heads", 0))
	o.failIf(len(q) != 3 || len(k) != 3 || len(v) != 3 || heads < 1 || keys < 1 || heads%keys != 0 || q[2]%heads != 0 || v[2]%keys != 0 ||
		k[2]*heads != q[2]*keys || !slices.Equal(k[:2], q[:2]) || !slices.Equal(v[:2], q[:2]) || q[1] < 1,
		"queries, keys and values of shapes %v, %v and %v for %d and %d heads", q, k, v, heads, keys)
	o.failIf(q[1] > maxTrips, "%d tokens; at most %d are supported", q[1], maxTrips)
	rule := choiceAttr(o, "update_rule", "gated_delta", updateRules)
	if rule.gated { // the decay must be there, even if a single token without a state does not use it
		o.in(4)
	}
	return linearAttention{op: o, batch: q[0], tokens: q[1], heads: heads, keys: keys, dk: q[2] / heads, dv: v[2] / keys,
		gated: rule.gated, delta: rule.delta}
}

// perHead returns a token's part of input i, in shape [batch, heads, shape…].
func (l linearAttention) perHead(i, token, heads int, shape ...int) graph.Value {
	x := l.in(i)
	in := l.shape(x)
	want := l.batch * heads * graph.Size(shape)
	l.failIf(len(in) != 3 || in[1] != l.tokens || l.batch*in[2] != want,
		"input %d has shape %v, for %d tokens of %d heads", i, in, l.tokens, heads)
	return l.Reshape(l.SliceAxis(x, 1, token, 1, 1), append([]int{l.batch, heads}, shape...))
}

// lastOf says whether the last axis of input i has n entries.
func (l linearAttention) lastOf(i, n int) bool {
	s := l.shape(l.in(i))
	return len(s) == 3 && s[2] == n
}

// decay returns the factor by which the state is multiplied before a token: the
// exponential of input 4, which has a number for each head, or for each row of a head's
// state.
func (l linearAttention) decay(token int) graph.Value {
	rows := l.dk
	if l.lastOf(4, l.keys) {
		rows = 1
	}
	return l.Apply(graph.Exp, l.perHead(4, token, l.keys, rows, 1))
}

// beta returns the factor (input 5) of what a token adds to the state by the delta rule:
// a number for each head, or one for all.
func (l linearAttention) beta(token int) graph.Value {
	heads := l.keys
	if l.lastOf(5, 1) {
		heads = 1
	}
	return l.perHead(5, token, heads, 1, 1)
}

// next returns the state after a token. state is the zero Value if it is all zeros.
func (l linearAttention) next(state graph.Value, token int) graph.Value {
	column, row := l.perHead(1, token, l.keys, l.dk, 1), l.perHead(2, token, l.keys, 1, l.dv)
	if l.gated && l.Valid(state) {
		state = l.Mul(l.decay(token), state)
	}
	if l.delta {
		if l.Valid(state) {
			row = l.Sub(row, l.MatMul(l.perHead(1, token, l.keys, 1, l.dk), state))
		}
		row = l.Mul(l.beta(token), row)
	}
	added := l.MatMul(column, row)
	if !l.Valid(state) {
		return added
	}
	return l.Add(state, added)
}

// lowerLinearAttention unrolls the recurrence of the state S, a matrix for each head. At
// each token with query q, key k and value v, S is multiplied by the decay; then k⊗v, or
// with the delta rule k⊗(v − Sᵀk)·β, is added; the result is scale·Sᵀq.
func lowerLinearAttention(o *op) {
	o.ignore("chunk_size")
	l := o.linearAttention()
	scale := o.floatAttr("scale", 0)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(l.dk))
	}
	var state graph.Value
	if o.has(3) {
		state = o.Reshape(o.in(3), []int{l.batch, l.keys, l.dk, l.dv})
	}
	results := make([]graph.Value, l.tokens)
	for t := range results {
		state = l.next(state, t)
		y := o.MatMul(l.perHead(0, t, l.keys, l.heads/l.keys, l.dk), state)
		results[t] = o.Reshape(y, []int{l.batch, 1, l.heads * l.dv})
	}
	o.result(0, o.Mul(o.Concat(1, results...), o.Number(scale)))
	if o.wanted(1) {
		o.result(1, state)
	}
}
