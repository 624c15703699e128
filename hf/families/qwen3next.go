package families

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// deltaNet is the gated delta rule (Yang et al. 2024, https://arxiv.org/abs/2412.06464). Each head has a matrix that maps keys to values
// and decays. A token changes the value for its key towards its own value. The graph computes this in the form of attention: what token t
// writes is its value less the value it finds for its key, and the value it finds is a sum over what the earlier tokens have written.
type deltaNet struct {
	keys, values int // heads of keys and queries, and heads of values; each of the former has values/keys of the latter
	keyDim, dim  int // elements of a key or query, and of a value
	kernel       int // tokens that the convolution reads
	act          activation
	eps          float64
}

// qwen3Next is Qwen3-Next. By default three of four layers have the gated delta rule, and the fourth has attention with gates. All layers
// have experts by default.
func qwen3Next(c *published, d *decoder) {
	d.act = activationOf(c, "hidden_act", "silu")
	d.turns(c, 0.25)
	d.plusOne, d.headNorm, d.gated, d.fixed = true, true, true, true
	d.attentionBias(c, false)
	d.qwenExperts(c, 512, 10, 512, true).sharedExpert(c, 512)
	r := &deltaNet{
		keys: c.Int("linear_num_key_heads", 16), values: c.Int("linear_num_value_heads", 32), keyDim: c.Int("linear_key_head_dim", 128),
		dim: c.Int("linear_value_head_dim", 128), kernel: c.Int("linear_conv_kernel_dim", 4), act: d.act, eps: d.eps,
	}
	if r.values%r.keys != 0 || r.kernel > mostKernel {
		c.Failf("%d heads of values share %d of keys, and a convolution of %d", r.values, r.keys, r.kernel)
	}
	every, types := c.Int("full_attention_interval", 4), layerTypes(c, d.layers, "full_attention", "linear_attention")
	d.other = func(n *net, i int, x graph.Value) (graph.Value, bool) {
		if types != nil && types[i] == "full_attention" || types == nil && (i+1)%every == 0 {
			return x, false
		}
		return r.mix(n, x, layer(i, "linear_attn."), d.width), true
	}
	d.unused = append(d.unused, "mtp.") // layers that guess tokens after the next (multi-token prediction)
	c.Ignore("num_local_experts", "output_router_logits", "router_aux_loss_coef", "use_sliding_window", "sliding_window", "max_window_layers")
}

// mix is the gated delta rule of a layer, whose names begin with at, for x of shape [tokens, width].
func (r *deltaNet) mix(n *net, x graph.Value, at string, width int) graph.Value {
	share := r.values / r.keys
	per := 2*r.keyDim + 2*share*r.dim // columns for a head of keys: its query and key, and its values and their gates
	all := n.linear(x, at+"in_proj_qkvz", r.keys*per, false)
	rates := n.linear(x, at+"in_proj_ba", 2*r.values, false)
	t := n.tokens
	n.At("", at+"conv1d")
	all = n.Reshape(all, []int{t, r.keys, per})
	rates = n.Reshape(rates, []int{t, r.keys, 2 * share})
	part := func(start, count int) graph.Value {
		return n.Reshape(n.SliceAxis(all, 2, start, 1, count), []int{t, r.keys * count})
	}
	keys, values := r.keys*r.keyDim, r.values*r.dim
	mixed := n.Concat(1, part(0, r.keyDim), part(r.keyDim, r.keyDim), part(2*r.keyDim, share*r.dim))
	gate := part(2*r.keyDim+share*r.dim, share*r.dim)
	mixed = n.activate(r.act, (&stateSpace{kernel: r.kernel}).convolve(n, mixed, at+"conv1d"))
	n.At("", at+"state")
	// heads puts the heads in front. The result has shape [keys, share, tokens, per]; share is 1 for queries and keys.
	heads := func(x graph.Value, share, per int) graph.Value {
		return n.Transpose(n.Reshape(x, []int{t, r.keys, share, per}), []int{1, 2, 0, 3})
	}
	// unit scales each vector of x to length 1, and then by scale. Norm makes the mean square 1, hence the factor 1/√keyDim.
	unit := func(x graph.Value, scale float64) graph.Value {
		norm := graph.Norm{Axes: []int{3}, Epsilon: 1e-6 / float64(r.keyDim)}
		return n.Mul(n.Norm(norm, x), n.Number(scale*scaleOf(r.keyDim)))
	}
	q := unit(heads(n.columns(mixed, 0, keys), 1, r.keyDim), scaleOf(r.keyDim))
	k := unit(heads(n.columns(mixed, keys, keys), 1, r.keyDim), 1)
	v := heads(n.columns(mixed, 2*keys, values), share, r.dim)
	// by is the fraction by which a token changes the value for its key. earlier[t][s] is the decay from token s to a later token t, else 0.
	by := n.Apply(graph.Sigmoid, heads(n.Reshape(n.SliceAxis(rates, 2, 0, 1, share), []int{t, r.values}), share, 1))
	earlier := r.decays(n, n.Reshape(n.SliceAxis(rates, 2, share, 1, share), []int{t, r.values}), at)
	decay := n.Add(earlier, n.band("itself", func(t, s int) bool { return s == t }))
	turned := n.Transpose(k, []int{0, 1, 3, 2})
	found := n.Mul(n.Mul(n.MatMul(k, turned), earlier), by)
	var steps [3][]graph.Value
	written := r.solve(n, found, n.Mul(v, by), &steps)
	for _, list := range steps {
		n.Alike(list)
	}
	y := n.MatMul(n.Mul(n.MatMul(q, turned), decay), written)
	y = n.Reshape(n.Transpose(y, []int{2, 0, 1, 3}), []int{t, r.values, r.dim})
	y = n.rms(y, at+"norm", r.eps, false)
	y = n.Mul(n.Reshape(y, []int{t, values}), n.activate(activations["silu"], gate))
	return n.linear(y, at+"out_proj", width, false)
}

// decays returns the factor by which a matrix decays from token s to token t, and 0 where s is not before t, of shape [keys, share, tokens,
// tokens], at [t, s].
//
// The text is cut into halves again and again. For s < t there is exactly one cut that has s in its first half and t in its second. The
// decay is the product of that from s to this middle and that from the middle to t. So no decay is computed from the difference of two
// large sums.
func (r *deltaNet) decays(n *net, step graph.Value, at string) graph.Value {
	rate := n.rates(at, r.values)
	step = n.Clip(n.Mul(n.Apply(graph.Softplus, n.Add(step, n.weight(at+"dt_bias", []int{r.values}))), rate), -16, 0)
	halves := halvesOf(n.tokens)
	t, levels, nodes := n.tokens, halves[len(halves)-1].level+1, len(halves)
	if !n.Room(t, t, levels) {
		return n.Failf("decays of %d tokens are too many", t)
	}
	// sums[j][i][level] is 1 if token j lies between token i and the middle of the part that has i at this level, so that it adds to
	// their decay. to and from are the columns of the decays to a token from a middle, and from a token to a middle, −1 for 0.
	sums := make([]float32, t*t*levels)
	to, from := slices.Repeat([]int{-1}, t*nodes), slices.Repeat([]int{-1}, nodes*t)
	for k, h := range halves {
		for i := h.first; i < h.end; i++ {
			lo, hi := i+1, h.middle // for a token of the first half: those after it
			if i >= h.middle {
				lo, hi = h.middle, i+1
				to[i*nodes+k] = i*levels + h.level
			} else {
				from[k*t+i] = i*levels + h.level
			}
			for j := lo; j < hi; j++ {
				sums[j*t*levels+i*levels+h.level] = 1
			}
		}
	}
	all := n.MatMul(n.Transpose(step, []int{1, 0}), n.table("between", []int{t, t * levels}, sums, true))
	all = n.Apply(graph.Exp, n.Clip(all, -16, 0)) // exp(−16) is as good as 0
	shape := func(x graph.Value, index []int, rows, columns int) graph.Value {
		return n.Reshape(n.Gather(x, 1, index), []int{r.keys, r.values / r.keys, rows, columns})
	}
	return n.MatMul(shape(all, to, t, nodes), shape(all, from, nodes, t))
}

// half is a part of a text, the tokens from first to before end, that is cut before token middle. level is the number of cuts that led to
// it; it is 0 for the whole text.
type half struct{ first, middle, end, level int }

// halvesOf lists the parts of a text of so many tokens that have more than one token, by increasing level. The whole text is always the
// first.
func halvesOf(tokens int) []half {
	list := []half{{0, tokens / 2, tokens, 0}}
	for i := 0; i < len(list); i++ {
		h := list[i]
		for _, part := range [][2]int{{h.first, h.middle}, {h.middle, h.end}} {
			if part[1]-part[0] > 1 {
				list = append(list, half{part[0], (part[0] + part[1]) / 2, part[1], h.level + 1})
			}
		}
	}
	return list
}

// solve returns the u for which u + found·u = v, where found is 0 on and above the diagonal, of shape [keys, share, t, t]. It solves for
// the first half of the rows, subtracts their contribution from the second half of v, and solves for the second half. It appends the
// values of each step to the lists in steps, for [graph.Builder.Alike].
func (r *deltaNet) solve(n *net, found, v graph.Value, steps *[3][]graph.Value) graph.Value {
	if !n.Valid(found) || !n.Valid(v) {
		return v
	}
	t := n.Shape(v)[2]
	if t == 1 {
		return v
	}
	half := t / 2
	part := func(row, rows, column, columns int) graph.Value {
		return n.SliceAxis(n.SliceAxis(found, 2, row, 1, rows), 3, column, 1, columns)
	}
	first := r.solve(n, part(0, half, 0, half), n.SliceAxis(v, 2, 0, 1, half), steps)
	there := n.MatMul(part(half, t-half, 0, half), first)
	left := n.Sub(n.SliceAxis(v, 2, half, 1, t-half), there)
	all := n.Concat(2, first, r.solve(n, part(half, t-half, half, t-half), left, steps))
	for i, x := range []graph.Value{there, left, all} {
		steps[i] = append(steps[i], x)
	}
	return all
}
