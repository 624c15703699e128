package onnx

import (
	"math"

	"github.com/prove-model/prove-model/graph"
)

// Layers of language models that carry a state along the tokens.

// lowerCausalConv is a convolution of each channel, in which an output depends on its
// own and earlier entries. The last entries are the next state.
func lowerCausalConv(o *op) {
	o.arity(2, 4)
	x, weights := o.in(0), o.in(1)
	in, sw := o.shape(x), o.shape(weights)
	if len(in) != 3 || len(sw) != 3 || sw[0] != in[1] || sw[1] != 1 || sw[2] < 1 {
		o.failf("input and weights have shapes %v and %v", in, sw)
	}
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
	switch a := o.strAttr("activation", "none"); a {
	case "none":
	case "silu", "swish":
		y = o.Apply(graph.Swish, y)
	default:
		o.failf("activation = %s is not known", graph.Quote(a))
	}
	o.result(0, y)
	if o.wanted(1) {
		o.result(1, o.SliceAxis(x, 2, in[2], 1, past))
	}
}

// lowerLinearAttention unrolls the recurrence of the state S, a matrix for each head.
// For each token, S is multiplied by the decay, then k⊗(v − Sᵀk)·β, or k⊗v, is added;
// the result is scale·Sᵀq.
func lowerLinearAttention(o *op) {
	o.arity(3, 6)
	query, key, value := o.in(0), o.in(1), o.in(2)
	q, k, v := o.shape(query), o.shape(key), o.shape(value)
	heads, keys := int(o.intAttr("q_num_heads", 0)), int(o.intAttr("kv_num_heads", 0))
	o.ignore("chunk_size")
	if len(q) != 3 || len(k) != 3 || len(v) != 3 || heads < 1 || keys < 1 || heads%keys != 0 || q[2]%heads != 0 || v[2]%keys != 0 ||
		k[2]*heads != q[2]*keys || k[0] != q[0] || v[0] != q[0] || k[1] != q[1] || v[1] != q[1] || q[1] < 1 {
		o.failf("queries, keys and values of shapes %v, %v and %v for %d and %d heads", q, k, v, heads, keys)
	}
	n, tokens, dk, dv := q[0], q[1], q[2]/heads, v[2]/keys
	if tokens > maxTrips {
		o.failf("%d tokens; at most %d are supported", tokens, maxTrips)
	}
	scale := o.floatAttr("scale", 0)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(dk))
	}
	rule := o.strAttr("update_rule", "gated_delta")
	gated, delta := rule == "gated" || rule == "gated_delta", rule == "delta" || rule == "gated_delta"
	if !gated && !delta && rule != "linear" {
		o.failf("update_rule = %s is not known", graph.Quote(rule))
	}
	// perHead is a token's part of input i: for each head some rows or columns.
	perHead := func(i, token, heads int, shape ...int) graph.Value {
		x := o.in(i)
		in := o.shape(x)
		want := n * heads * graph.Size(shape)
		if len(in) != 3 || in[1] != tokens || n*in[2] != want {
			o.failf("input %d has shape %v, for %d tokens of %d heads", i, in, tokens, heads)
		}
		return o.Reshape(o.SliceAxis(x, 1, token, 1, 1), append([]int{n, heads}, shape...))
	}
	var state graph.Value
	if o.has(3) {
		state = o.Reshape(o.in(3), []int{n, keys, dk, dv})
	}
	var decay, beta func(token int) graph.Value
	if gated {
		rows := dk
		if s := o.shape(o.in(4)); len(s) == 3 && s[2] == keys {
			rows = 1
		}
		decay = func(token int) graph.Value { return o.Apply(graph.Exp, perHead(4, token, keys, rows, 1)) }
	}
	if delta {
		own := keys
		if s := o.shape(o.in(5)); len(s) == 3 && s[2] == 1 {
			own = 1
		}
		beta = func(token int) graph.Value { return perHead(5, token, own, 1, 1) }
	}
	results := make([]graph.Value, tokens)
	for t := range tokens {
		column, row := perHead(1, t, keys, dk, 1), perHead(2, t, keys, 1, dv)
		if gated && o.Valid(state) {
			state = o.Mul(decay(t), state)
		}
		if delta {
			if o.Valid(state) {
				row = o.Sub(row, o.MatMul(perHead(1, t, keys, 1, dk), state))
			}
			row = o.Mul(beta(t), row)
		}
		added := o.MatMul(column, row)
		if o.Valid(state) {
			added = o.Add(state, added)
		}
		state = added
		y := o.MatMul(perHead(0, t, keys, heads/keys, dk), state)
		results[t] = o.Reshape(y, []int{n, 1, heads * dv})
	}
	o.result(0, o.Mul(o.Concat(1, results...), o.Number(scale)))
	if o.wanted(1) {
		o.result(1, state)
	}
}
