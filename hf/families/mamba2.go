package families

import (
	"math"

	"github.com/prove-model/prove-model/graph"
)

// stateSpace is Mamba-2 (Dao and Gu 2024, https://arxiv.org/abs/2405.21060). In place of attention, each head has a state that decays;
// every token adds to it and reads from it. The graph computes this in the form of attention (section 3.2): the weight of the value of
// token s for token t ≥ s is the product of t's read and s's write vector, times exp of the sum of the decays from s to t.
type stateSpace struct {
	vocabulary, width, layers         int
	heads, dim, groups, state, kernel int // heads of dim numbers; heads of a group share write and read vectors of state numbers
	eps                               float64
	act                               activation
	bias, convBias                    bool
	least, most                       float64 // bounds to which a time step is clipped
}

// mamba2 is Mamba-2.
func mamba2(c *published) *Model {
	s := &stateSpace{
		vocabulary: c.Int("vocab_size", 0), width: c.Int("hidden_size", 0), layers: c.count("num_hidden_layers", 0),
		heads: c.Int("num_heads", 128), dim: c.Int("head_dim", 64), groups: c.Int("n_groups", 8), state: c.Int("state_size", 128),
		kernel: c.Int("conv_kernel", 4), eps: c.Float("layer_norm_epsilon", 1e-5), act: activationOf(c, "hidden_act", "silu"),
		bias: c.Bool("use_bias", false), convBias: c.Bool("use_conv_bias", true),
	}
	if s.heads%s.groups != 0 || s.kernel > mostKernel {
		c.Failf("%d heads in %d groups, and a convolution of %d", s.heads, s.groups, s.kernel)
	}
	tied := c.Bool("tie_word_embeddings", false)
	s.least, s.most = c.Limits("time_step_limit")
	c.Is("expand", float64(s.heads*s.dim)/float64(s.width), s.heads*s.dim/max(s.width, 1))
	c.Ignore("chunk_size", "residual_in_fp32", "rescale_prenorm_residual", "time_step_rank", "time_step_min", "time_step_max", "time_step_floor", "norm_before_gate",
		"rms_norm", "intermediate_size")
	return mixers{mostRelative, s.vocabulary, s.width, s.layers, s.eps, tied}.model(c, s.mix)
}

// mostKernel is the most tokens that a convolution reads; published models have 4.
const mostKernel = 64

// mix is the mixer of a layer, whose names begin with at, for x of shape [tokens, width].
func (s *stateSpace) mix(n *net, x graph.Value, at string) graph.Value {
	inner, states := s.heads*s.dim, s.groups*s.state
	all := n.linear(x, at+"in_proj", 2*inner+2*states+s.heads, s.bias)
	gate, step := n.columns(all, 0, inner), n.columns(all, 2*inner+2*states, s.heads)
	x = n.activate(s.act, s.convolve(n, n.columns(all, inner, inner+2*states), at+"conv1d"))
	t := n.tokens
	n.At("", at+"state")
	step = n.Apply(graph.Softplus, n.Add(step, n.weight(at+"dt_bias", []int{s.heads})))
	if s.least > 0 || !math.IsInf(s.most, 1) {
		step = n.Clip(step, s.least, s.most)
	}
	// heads reads x as [tokens, groups, heads of a group, per] and permutes these axes.
	heads := func(x graph.Value, per int, perm ...int) graph.Value {
		return n.Transpose(n.Reshape(x, []int{t, s.groups, s.heads / s.groups, per}), perm)
	}
	values := n.Reshape(n.columns(x, 0, inner), []int{t, s.heads, s.dim})
	adds := heads(n.Mul(values, n.Reshape(step, []int{t, s.heads, 1})), s.dim, 1, 2, 0, 3)
	write := n.Transpose(n.Reshape(n.columns(x, inner, states), []int{t, s.groups, 1, s.state}), []int{1, 2, 3, 0})
	read := n.Transpose(n.Reshape(n.columns(x, inner+states, states), []int{t, s.groups, 1, s.state}), []int{1, 2, 0, 3})
	y := n.MatMul(n.Mul(n.MatMul(read, write), s.decays(n, step, heads, at)), adds)
	y = n.Reshape(n.Transpose(y, []int{2, 0, 1, 3}), []int{t, s.heads, s.dim})
	y = n.Add(y, n.Mul(values, n.Reshape(n.weight(at+"D", []int{s.heads}), []int{s.heads, 1})))
	n.At("", at+"norm")
	y = n.Mul(n.Reshape(y, []int{t, inner}), n.activate(activations["silu"], gate))
	y = n.Norm(graph.Norm{Axes: []int{2}, Epsilon: s.eps}, n.Reshape(y, []int{t, s.groups, inner / s.groups}))
	y = n.Mul(n.Reshape(y, []int{t, inner}), n.weight(at+"norm.weight", []int{inner}))
	return n.linear(y, at+"out_proj", s.width, s.bias)
}

// decays returns the factor by which a state decays from token s to token t, and 0 where s comes after t, of shape [groups, heads of a
// group, tokens, tokens], at [t, s].
func (s *stateSpace) decays(n *net, step graph.Value, heads func(x graph.Value, per int, perm ...int) graph.Value, at string) graph.Value {
	rate := n.rates(at, s.heads)
	since := n.MatMul(n.band("until", until), n.Mul(step, rate)) // sums of the decays of the tokens up to each
	apart := n.Sub(heads(since, 1, 1, 2, 0, 3), heads(since, 1, 1, 2, 3, 0))
	return n.Mul(n.Apply(graph.Exp, n.Min(apart, n.Number(0))), n.band("until", until))
}

// until says whether token s is token t or comes before it.
func until(t, s int) bool { return s <= t }

// band is a matrix of [tokens, tokens] that is 1 at (t, s) where has says so, and 0 elsewhere.
func (n *net) band(name string, has func(t, s int) bool) graph.Value {
	v := filled(n.tokens*n.tokens, func(at int) float32 {
		if has(at/n.tokens, at%n.tokens) {
			return 1
		}
		return 0
	})
	return n.table(name, []int{n.tokens, n.tokens}, v, true)
}

// convolve is a causal convolution of each column of x over the tokens: token t reads tokens t − kernel + 1 to t. The last element of the
// kernel is the weight of token t itself.
func (s *stateSpace) convolve(n *net, x graph.Value, at string) graph.Value {
	columns := n.dim(x, 1)
	n.At("", at)
	w := n.weight(at+".weight", []int{columns, 1, s.kernel})
	var y graph.Value
	for back := range s.kernel {
		row := n.Reshape(n.SliceAxis(w, 2, s.kernel-1-back, 1, 1), []int{columns})
		if back == 0 {
			y = n.Mul(x, row)
			continue
		}
		x = n.MatMul(n.band("before", func(t, s int) bool { return s == t-1 }), x) // moves each row to the next token
		y = n.Add(y, n.Mul(x, row))
	}
	if s.convBias {
		y = n.Add(y, n.weight(at+".bias", []int{columns}))
	}
	return y
}
