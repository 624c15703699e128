package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// microsoft is the domain of the fused operators into which ONNX Runtime rewrites
// transformers.
const microsoft = "com.microsoft"

// microsoftLowerings has the lowerings of this domain's operators.
var microsoftLowerings = map[string]lowering{
	"Tokenizer": {1, 1, ofStrings}, "Gelu": {1, 1, lowerGelu}, "QuickGelu": {1, 1, lowerQuickGelu},
	"BiasGelu":    {2, 2, computed(func(o *op) graph.Value { return o.Apply(graph.Gelu, o.sum(0, 1), 0) })},
	"FastGelu":    {1, 2, computed(func(o *op) graph.Value { return o.Apply(graph.Gelu, o.sum(0, 1), 1) })},
	"FusedMatMul": {2, 2, lowerFusedMatMul}, "TransposeMatMul": {2, 2, lowerFusedMatMul},
	"SkipLayerNormalization": {3, 5, lowerSkipLayerNorm}, "SkipSimplifiedLayerNormalization": {3, 4, lowerSkipSimplifiedLayerNorm},
	"EmbedLayerNormalization": {7, 9, lowerEmbedLayerNorm},
	"Attention":               {2, 7, lowerPackedAttention}, "MultiHeadAttention": {3, 10, lowerMultiHeadAttention},
	"RotaryEmbedding": {4, 4, lowerMicrosoftRotary},
}

// lowerQuickGelu is x·σ(α·x).
func lowerQuickGelu(o *op) {
	x := o.in(0)
	o.result(0, o.Mul(x, o.Apply(graph.Sigmoid, o.Mul(x, o.Number(o.floatAttr("alpha", 1.702))))))
}

func lowerFusedMatMul(o *op) {
	x, y := o.in(0), o.in(1)
	o.failIf(o.flagAttr("transBatchA", false) || o.flagAttr("transBatchB", false),
		"transBatchA and transBatchB are not supported")
	if o.flagAttr("transA", false) && len(o.shape(x)) > 1 { // ignored for vectors
		x = o.transposeLast(x)
	}
	if o.flagAttr("transB", false) && len(o.shape(y)) > 1 {
		y = o.transposeLast(y)
	}
	o.result(0, o.Mul(o.MatMul(x, y), o.Number(o.floatAttr("alpha", 1))))
}

// sum adds those of the given inputs that are present. The first of them must be present.
func (o *op) sum(inputs ...int) graph.Value {
	x := o.in(inputs[0])
	for _, i := range inputs[1:] {
		for _, y := range o.optional(i) {
			x = o.Add(x, y)
		}
	}
	return x
}

// lowerSkipLayerNorm is the LayerNorm of a sum. The sum is an output too.
func lowerSkipLayerNorm(o *op) {
	x := o.sum(0, 1, 4)
	eps := o.floatAttr("epsilon", 1e-12)
	o.result(0, o.LayerNorm(x, len(o.shape(x))-1, eps, o.in(2), o.optional(3)...))
	o.alsoResult(3, x)
}

func lowerSkipSimplifiedLayerNorm(o *op) {
	x := o.sum(0, 1, 3)
	last := []int{len(o.shape(x)) - 1}
	o.result(0, o.Mul(o.Norm(graph.Norm{Axes: last, Epsilon: o.floatAttr("epsilon", 1e-12)}, x), o.in(2)))
	o.alsoResult(3, x)
}

// alsoResult makes v output i, if the node has one.
func (o *op) alsoResult(i int, v graph.Value) {
	if i < len(o.proto.Output) {
		o.result(i, v)
	}
}

// lowerEmbedLayerNorm is the LayerNorm of the sum of three rows for each token, of tables
// for the token, its position, and its segment.
func lowerEmbedLayerNorm(o *op) {
	ids, s := o.tensor(0)
	o.failIf(len(s) != 2, "tokens of shape %v", s)
	o.failIf(o.has(7), "a mask among its inputs is not supported: give it to the attention")
	x := o.Take(o.in(2), 0, ids)
	if o.has(8) {
		x = o.Add(x, o.Take(o.in(3), 0, o.in(8)))
	} else {
		rows := o.shape(o.in(3))
		o.failIf(len(rows) != 2 || rows[0] < s[1], "%d tokens, but positions of shape %v", s[1], rows)
		x = o.Add(x, o.SliceAxis(o.in(3), 0, 0, 1, s[1]))
	}
	if o.has(1) {
		x = o.Add(x, o.Take(o.in(4), 0, o.in(1)))
	}
	o.ignore("mask_index_type")
	o.result(0, o.LayerNorm(x, len(o.shape(x))-1, o.floatAttr("epsilon", 1e-12), o.in(5), o.in(6)))
	o.alsoResult(2, x)
}

// heads reads the attributes that this domain's two attention operators share.
func (o *op) heads() (heads int64, a attention) {
	heads = o.intAttr("num_heads", 0)
	a.scale = o.floatAttr("scale", 0)
	o.ignore("mask_filter_value") // −10^4 by default, which stands for −∞
	if o.flagAttr("unidirectional", false) {
		a.window = causal
	}
	o.failIf(o.flagAttr("past_present_share_buffer", false), "a cache of keys is not supported: export without one")
	return heads, a
}

// without fails if one of the given inputs is present; what says what they are.
func (o *op) without(what string, inputs ...int) {
	for _, i := range inputs {
		o.failIf(o.has(i), "%s (input %d) is not supported", what, i)
	}
}

// lowerPackedAttention reads an Attention whose input is multiplied by one matrix: the
// weights of queries, keys and values side by side.
func lowerPackedAttention(o *op) {
	heads, a := o.heads()
	o.failIf(o.flagAttr("do_rotary", false), "do_rotary is not supported")
	o.ignore("rotary_embedding_dim")
	o.without("a mask of lengths", 3)
	o.without("a cache of keys", 4, 6)
	x := o.MatMul(o.in(0), o.in(1))
	for _, b := range o.optional(2) {
		x = o.Add(x, b)
	}
	s := o.shape(x)
	o.failIf(len(s) != 3, "an input of shape %v", o.shape(o.in(0)))
	sizes := o.intsAttr("qkv_hidden_sizes")
	if sizes == nil {
		third := int64(s[2] / 3)
		sizes = []int64{third, third, third}
	}
	all := int64(s[2])
	o.failIf(len(sizes) != 3 || slices.Min(sizes) < 1 || slices.Max(sizes) > all || sizes[0]+sizes[1]+sizes[2] != all,
		"queries, keys and values of sizes %v from weights of shape %v", sizes, o.shape(o.in(1)))
	at := 0
	for i, v := range []*graph.Value{&a.q, &a.k, &a.v} {
		*v = o.splitHeads(o.SliceAxis(x, 2, at, 1, int(sizes[i])), heads)
		at += int(sizes[i])
	}
	a.bias = o.optional(5)
	o.result(0, o.joinHeads(o.attend(a)))
}

// lowerMultiHeadAttention reads queries, keys and values of shape [batch, n, heads·d], or
// keys and values that have the heads as an axis already.
func lowerMultiHeadAttention(o *op) {
	heads, a := o.heads()
	o.without("a mask of lengths", 4)
	o.without("a cache of keys", 6, 7, 8, 9)
	parts := []graph.Value{o.in(0), o.in(1), o.in(2)}
	if o.has(3) {
		bias, at := o.in(3), 0
		for i, x := range parts {
			s := o.shape(x)
			o.failIf(len(s) != 3 || len(o.shape(bias)) != 1 || at+s[2] > o.shape(bias)[0],
				"a bias of shape %v for an input of shape %v", o.shape(bias), s)
			parts[i] = o.Add(x, o.SliceAxis(bias, 0, at, 1, s[2]))
			at += s[2]
		}
	}
	for i, v := range []*graph.Value{&a.q, &a.k, &a.v} {
		if *v = parts[i]; len(o.shape(*v)) == 3 {
			*v = o.splitHeads(*v, heads)
		}
	}
	a.bias = o.optional(5)
	o.result(0, o.joinHeads(o.attend(a)))
}

// lowerMicrosoftRotary reads a RotaryEmbedding whose input 1, before the tables, has the
// positions or only the first one.
func lowerMicrosoftRotary(o *op) {
	scale := o.floatAttr("scale", 1)
	o.failIf(math.Abs(scale-1) > 0, "scale = %v is not supported", scale)
	o.failIf(o.flagAttr("is_packed_batching", false), "is_packed_batching is not supported")
	x, s := o.ranked(0, 3)
	positions, cos, sin := o.in(1), o.in(2), o.in(3)
	if p := o.shape(positions); len(p) == 1 { // the position of the first place
		first := o.scalarInput(1, "the first position")
		n := s[len(s)-2]
		if rows := o.shape(cos); len(rows) != 2 || first < 0 || first+float64(n) > float64(rows[0]) {
			o.failf("%d places from %v on, but tables of shape %v", n, first, rows)
		}
		positions = o.Reshape(o.Range(first, first+float64(n), 1, graph.Int64), []int{1, n})
	}
	heads := o.intAttr("num_heads", 0)
	if c := o.shape(cos); heads == 0 && len(c) == 2 && c[1] > 0 { // each head is rotated as a whole
		heads = int64(s[len(s)-1] / (2 * c[1]))
	}
	o.result(0, o.rotary(x, cos, sin, []graph.Value{positions}, heads, o.flagAttr("interleaved", false)))
}
