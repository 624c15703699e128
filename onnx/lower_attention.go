package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// attention is softmax(cap(scale·q·kᵀ) + mask)·v. Queries q have shape [batch, heads, n,
// d]. Keys k and values v have the same number of heads, or one that divides it; then
// neighbouring query heads share a head of k and v.
type attention struct {
	q, k, v graph.Value
	scale   float64 // 0 means 1/√d
	cap     float64 // c, if scores x become c·tanh(x/c); 0 means no such cap
	// window reports whether a query attends to a key that comes the given number of
	// places after its own. Nil means that it attends to all.
	window func(after int) bool
	past   int                            // number of keys before that of the first query
	bias   []graph.Value                  // added to the scores, with −∞ where they are masked
	allow  []graph.Value                  // truth values, false where the scores are masked
	scores func(stage int, x graph.Value) // gets the scores at each stage; may be nil
	// changeScores and changeWeights transform the masked scores and the weights; nil leaves
	// them unchanged.
	changeScores, changeWeights func(x graph.Value) graph.Value
}

// The stages of the scores that a node may have as an output.
const (
	rawScores = iota
	cappedScores
	maskedScores
	weightsOfScores
)

// causal is the window of causal attention: no query attends to a later key.
func causal(after int) bool { return after <= 0 }

// attend builds the attention. The result has shape [batch, heads, n, entries of a
// value].
func (o *op) attend(a attention) graph.Value {
	q, k, v := o.shape(a.q), o.shape(a.k), o.shape(a.v)
	o.failIf(len(q) != 4 || len(k) != 4 || len(v) != 4 || k[1] == 0 || q[1]%k[1] != 0 || q[0] != k[0] || q[3] != k[3] ||
		!slices.Equal(v[:3], k[:3]), "queries, keys and values of shapes %v, %v and %v", q, k, v)
	if a.scale == 0 {
		a.scale = 1 / math.Sqrt(float64(q[3]))
	}
	heads := []int{q[0], q[1], q[2], k[2]} // shape of the scores
	query, key, value := a.q, a.k, a.v
	shared := q[1] != k[1]
	if shared {
		query = o.Reshape(query, []int{q[0], k[1], q[1] / k[1], q[2], q[3]})
		key = o.Reshape(key, []int{k[0], k[1], 1, k[2], k[3]})
		value = o.Reshape(value, []int{v[0], v[1], 1, v[2], v[3]})
	}
	x := o.Mul(o.MatMul(query, o.transposeLast(key)), o.Number(a.scale))
	o.shape(x) // stops if the scores are too large, before masks are made
	if shared {
		x = o.Reshape(x, heads)
	}
	x = o.weights(&a, x)
	if shared {
		x = o.Reshape(x, []int{q[0], k[1], q[1] / k[1], q[2], k[2]})
	}
	return o.Reshape(o.MatMul(x, value), []int{q[0], q[1], q[2], v[3]})
}

// weights turns scores of shape [batch, heads, queries, keys] into the weights of values.
func (o *op) weights(a *attention, x graph.Value) graph.Value {
	s := o.shape(x)
	queries, keys := s[2], s[3]
	show := func(stage int) {
		if a.scores != nil {
			a.scores(stage, x)
		}
	}
	show(rawScores)
	if a.cap != 0 {
		x = o.Mul(o.Apply(graph.Tanh, o.Mul(x, o.Number(1/a.cap))), o.Number(a.cap))
	}
	show(cappedScores)
	for _, b := range a.bias {
		x = o.Add(x, o.wide(b, keys, math.Inf(-1)))
		if s := o.shape(b); o.Tensor(b) == nil && len(s) > 0 && s[len(s)-1] < keys {
			a.allow = append(a.allow, o.seen(func(after int) bool { return after < s[len(s)-1] }, 1, keys, 0))
		}
	}
	for _, b := range a.allow {
		x = o.Where(o.wide(b, keys, 0), x, o.Table(lowest()))
	}
	if a.window != nil {
		x = o.Where(o.seen(a.window, queries, keys, a.past), x, o.Table(lowest()))
	}
	if a.changeScores != nil {
		x = a.changeScores(x)
	}
	show(maskedScores)
	x = o.MaskedSoftmax(x, 3)
	if a.changeWeights != nil {
		x = a.changeWeights(x)
	}
	show(weightsOfScores)
	return x
}

// lowest is a constant of −∞, which masks scores.
func lowest() *graph.Tensor {
	return &graph.Tensor{Shape: []int{}, DType: graph.Float, F32: []float32{float32(math.Inf(-1))}, Public: true}
}

// seen returns the mask that says which keys each query attends to.
func (o *op) seen(window func(after int) bool, queries, keys, past int) graph.Value {
	o.room(queries, keys)
	return o.truths([]int{queries, keys}, func(at int) bool { return window(at%keys - past - at/keys) })
}

// wide extends a mask along its last axis to the given number of keys, with fill for the
// new ones; a computed mask is extended with 0.
func (o *op) wide(mask graph.Value, keys int, fill float64) graph.Value {
	shape := o.shape(mask)
	if len(shape) == 0 || shape[len(shape)-1] == keys {
		return mask
	}
	t := o.Tensor(mask)
	n := shape[len(shape)-1]
	o.failIf(n > keys, "its mask has shape %v for %d keys", shape, keys)
	o.room(graph.Size(shape[:len(shape)-1]), keys)
	if t == nil { // Gather gives 0, which is false, for an index of −1
		index := slices.Repeat([]int{-1}, keys)
		copy(index, upTo(0, n))
		return o.Gather(mask, len(shape)-1, index)
	}
	out := &graph.Tensor{Shape: append(append([]int{}, shape[:len(shape)-1]...), keys), DType: t.DType, Public: t.Public}
	out.F32, out.I64 = widened(t.F32, n, keys, float32(fill)), widened(t.I64, n, keys, int64(fill))
	return o.Table(out)
}

// widened extends each row of n numbers to many numbers, with fill.
func widened[T any](list []T, n, many int, fill T) (out []T) {
	for ; len(list) > 0; list = list[n:] {
		out = append(append(out, list[:n]...), slices.Repeat([]T{fill}, many-n)...)
	}
	return out
}

// transposeLast exchanges the last two axes.
func (o *op) transposeLast(x graph.Value) graph.Value {
	perm := upTo(0, len(o.shape(x)))
	n := len(perm)
	o.failIf(n < 2, "a matrix of shape %v", o.shape(x))
	perm[n-2], perm[n-1] = n-1, n-2
	return o.Transpose(x, perm)
}

// splitHeads gives [batch, n, heads·d] the shape [batch, heads, n, d].
func (o *op) splitHeads(x graph.Value, heads int64) graph.Value {
	s := o.shape(x)
	o.failIf(len(s) != 3 || heads < 1 || heads > int64(s[2]) || s[2]%int(heads) != 0,
		"%d heads of a tensor of shape %v", heads, s)
	return o.Transpose(o.Reshape(x, []int{s[0], s[1], int(heads), s[2] / int(heads)}), []int{0, 2, 1, 3})
}

// joinHeads is the inverse of splitHeads.
func (o *op) joinHeads(x graph.Value) graph.Value {
	s := o.shape(x)
	return o.Reshape(o.Transpose(x, []int{0, 2, 1, 3}), []int{s[0], s[2], s[1] * s[3]})
}

// lowerAttention reads the Attention of the ONNX standard: queries, keys, values, a mask,
// and keys and values of an earlier run.
func lowerAttention(o *op) {
	a := attention{q: o.in(0), k: o.in(1), v: o.in(2), scale: o.floatAttr("scale", 0), cap: o.floatAttr("softcap", 0)}
	flat := len(o.shape(a.q)) == 3
	queries, keys := o.intAttr("q_num_heads", 0), o.intAttr("kv_num_heads", 0)
	if flat {
		a.q, a.k, a.v = o.splitHeads(a.q, queries), o.splitHeads(a.k, keys), o.splitHeads(a.v, keys)
	}
	o.putPast(&a)
	if a.bias = o.optional(3); o.has(3) && o.DType(o.in(3)) == graph.Bool {
		a.allow, a.bias = a.bias, nil
	}
	left, right := o.intAttr("left_window_size", -1), o.intAttr("right_window_size", -1)
	onlyBefore := o.flagAttr("is_causal", false)
	switch {
	case o.has(6) && o.has(4):
		o.failf("has earlier keys and lengths of keys (nonpad_kv_seqlen)")
	case o.has(6):
		o.lengths(&a, o.in(6), onlyBefore, left, right)
	case onlyBefore || left >= 0 || right >= 0:
		a.window = func(after int) bool {
			return (!onlyBefore || causal(after)) && (left < 0 || int64(-after) <= left) && (right < 0 || int64(after) <= right)
		}
	}
	o.ignore("softmax_precision")
	stage := o.intAttr("qk_matmul_output_mode", 0)
	a.scores = func(s int, x graph.Value) {
		if int64(s) == stage && len(o.proto.Output) > 3 {
			o.result(3, x)
		}
	}
	y := o.attend(a)
	if flat {
		y = o.joinHeads(y)
	}
	o.result(0, y)
	o.alsoResult(1, a.k)
	o.alsoResult(2, a.v)
}

// putPast puts the keys and values of an earlier run, inputs 4 and 5, before those of this one.
func (o *op) putPast(a *attention) {
	o.failIf(o.has(4) != o.has(5), "has earlier keys without values, or values without keys")
	if !o.has(4) {
		return
	}
	past := o.shape(o.in(4))
	o.failIf(len(past) != 4, "earlier keys of shape %v", past)
	a.past = past[2]
	a.k, a.v = o.Concat(2, o.in(4), a.k), o.Concat(2, o.in(5), a.v)
}

// lowerFlexAttention is attention with bodies (graphs) that transform the scores and the
// weights.
func lowerFlexAttention(o *op) {
	a := attention{q: o.in(0), k: o.in(1), v: o.in(2), scale: o.floatAttr("scale", 0)}
	o.ignore("softmax_precision")
	change := func(name string) func(x graph.Value) graph.Value {
		if o.attrs[name] == nil {
			return nil
		}
		body := o.body(name)
		return func(x graph.Value) graph.Value {
			out := o.inline(body, []graph.Value{x})
			o.failIf(len(out) != 1 || !slices.Equal(o.shape(out[0]), o.shape(x)),
				"its %s gives %d outputs for one of shape %v", name, len(out), o.shape(x))
			return out[0]
		}
	}
	a.changeScores, a.changeWeights = change("score_mod"), change("prob_mod")
	o.result(0, o.attend(a))
}

// lengths masks, for each sample, the keys at places from the sample's length on, and
// those outside of a query's window. The key that belongs to the last query is the last
// one before the length.
func (o *op) lengths(a *attention, lengths graph.Value, causal bool, left, right int64) {
	q, k := o.shape(a.q), o.shape(a.k)
	s := o.shape(lengths)
	o.failIf(len(q) != 4 || len(k) != 4 || graph.Size(s) != q[0], "lengths of shape %v for queries of shape %v", s, q)
	n := o.Reshape(o.Cast(lengths, graph.Int64), []int{q[0], 1, 1, 1})
	o.room(q[2]+1, k[2])
	// Key j comes n places less than this after the key of query i, where n is the length of the sample.
	after := filled(q[2]*k[2], func(at int) int64 { return int64(at%k[2] - at/k[2] + q[2]) })
	whole := func(shape []int, v []int64) graph.Value {
		return o.Table(&graph.Tensor{Shape: shape, DType: graph.Int64, I64: v, Public: true})
	}
	a.allow = append(a.allow, o.Compare(graph.Less, whole([]int{k[2]}, upTo(0, int64(k[2]))), n))
	far := o.Sub(whole([]int{q[2], k[2]}, after), n)
	if causal {
		a.allow = append(a.allow, o.Compare(graph.LessOrEqual, far, o.whole(far, 0)))
	}
	if right >= 0 {
		a.allow = append(a.allow, o.Compare(graph.LessOrEqual, far, o.whole(far, int(right))))
	}
	if left >= 0 {
		a.allow = append(a.allow, o.Compare(graph.GreaterOrEqual, far, o.whole(far, -int(left))))
	}
}

// lowerTrilu keeps the entries on and above a diagonal, or on and below it, and makes the
// others 0.
func lowerTrilu(o *op) {
	x, s := o.ranked(0, 2)
	upper := o.flagAttr("upper", true)
	k := o.scalarOr(1, "the diagonal", 0)
	rows, columns := s[len(s)-2], s[len(s)-1]
	keep := func(after int) bool {
		if upper {
			return float64(after) >= k
		}
		return float64(after) <= k
	}
	if rows == 0 || columns == 0 {
		o.result(0, x)
		return
	}
	seen := o.seen(keep, rows, columns, 0)
	zero := &graph.Tensor{Shape: []int{}, DType: o.DType(x), Public: true}
	if zero.DType.IsFloat() {
		zero.F32 = []float32{0}
	} else {
		zero.I64 = []int64{0}
	}
	o.result(0, o.Where(seen, x, o.Table(zero)))
}

// rotated rotates r pairs of elements along the last axis of x, of shape [batch, heads,
// n, d]. The pairs are among the first 2·r elements, either neighbours (interleaved) or
// r apart. cos and sin, which broadcast to [batch, heads, n, r], give the angles.
func (o *op) rotated(x, cos, sin graph.Value, r int, interleaved bool) graph.Value {
	s := o.shape(x)
	d := s[3]
	o.failIf(r < 1 || 2*r > d, "%d pairs of %d elements", r, d)
	first, second := o.SliceAxis(x, 3, 0, 1, r), o.SliceAxis(x, 3, r, 1, r)
	if interleaved {
		first, second = o.SliceAxis(x, 3, 0, 2, r), o.SliceAxis(x, 3, 1, 2, r)
	}
	re := o.Sub(o.Mul(first, cos), o.Mul(second, sin))
	im := o.Add(o.Mul(first, sin), o.Mul(second, cos))
	parts := []graph.Value{re, im}
	if interleaved {
		wide := []int{s[0], s[1], s[2], r, 1}
		both := o.Concat(4, o.Reshape(re, wide), o.Reshape(im, wide))
		parts = []graph.Value{o.Reshape(both, []int{s[0], s[1], s[2], 2 * r})}
	}
	if 2*r < d {
		parts = append(parts, o.SliceAxis(x, 3, 2*r, 1, d-2*r))
	}
	return o.Concat(3, parts...)
}

// rotary rotates the elements of x by angles whose cosines and sines are in the tables
// cos and sin. Each token uses the table row given by its position or, if there are no
// positions, by its place. x has the heads as an axis, or side by side along the last
// axis.
func (o *op) rotary(x, cos, sin graph.Value, positions []graph.Value, heads int64, interleaved bool) graph.Value {
	flat := len(o.shape(x)) == 3
	if flat {
		x = o.splitHeads(x, heads)
	}
	s := o.shape(x)
	o.failIf(len(s) != 4, "its input has shape %v", s)
	angles := func(table graph.Value) graph.Value {
		t := o.shape(table)
		if len(positions) > 0 {
			o.failIf(len(t) != 2, "tables of shape %v", t)
			table = o.Take(table, 0, positions[0])
			t = o.shape(table)
		}
		o.failIf(len(t) != 3 || t[1] != s[2] || t[0] != 1 && t[0] != s[0],
			"angles of shape %v for an input of shape %v", t, s)
		return o.Reshape(table, []int{t[0], 1, t[1], t[2]})
	}
	c, n := angles(cos), angles(sin)
	r := o.shape(c)[3]
	dim := o.intAttr("rotary_embedding_dim", 0)
	o.failIf(dim != 0 && dim != int64(2*r), "rotary_embedding_dim is %d, but the tables turn %d elements", dim, 2*r)
	y := o.rotated(x, c, n, r, interleaved)
	if flat {
		y = o.joinHeads(y)
	}
	return y
}

// lowerRotary reads the RotaryEmbedding of the ONNX standard.
func lowerRotary(o *op) {
	o.result(0, o.rotary(o.in(0), o.in(1), o.in(2), o.optional(3), o.intAttr("num_heads", 0), o.flagAttr("interleaved", false)))
}
