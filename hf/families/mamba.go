package families

import "github.com/prove-model/prove-model/graph"

// selective is the first Mamba (Gu and Dao 2023, https://arxiv.org/abs/2312.00752). In place of attention, each of the inner channels has a
// state of several numbers. Each number decays at a rate of its own; every token adds to it and reads from it. The graph computes the
// recurrence token by token.
type selective struct {
	vocabulary, width, inner, layers int
	state, kernel, rank              int     // numbers of a channel's state, tokens that the convolution reads, and the rank of the time steps
	eps, mixerEps                    float64 // of the norms of layers, and of those that normed says
	act                              activation
	bias, convBias                   bool
	normed                           bool // the time steps' latent, the writes and the reads have norms without weights (FalconMamba)
}

// mostSteps is the most tokens of a text, for which the graph has one step of the recurrence each.
const mostSteps = 1 << 12

// mamba is the first Mamba, and FalconMamba.
func mamba(c *published) *Model {
	s := &selective{
		vocabulary: c.Int("vocab_size", 0), width: c.Int("hidden_size", 0), layers: c.count("num_hidden_layers", 0),
		state: c.Int("state_size", 16), kernel: c.Int("conv_kernel", 4), eps: c.Float("layer_norm_epsilon", 1e-5),
		act: activationOf(c, "hidden_act", "silu"), bias: c.Bool("use_bias", false), convBias: c.Bool("use_conv_bias", true),
		normed: c.Text("model_type", "") == "falcon_mamba",
	}
	s.inner = c.Int("intermediate_size", c.Int("expand", 2)*s.width)
	c.Ignore("expand")
	s.rank = (s.width + 15) / 16
	if c.Has("time_step_rank") {
		s.rank = c.Int("time_step_rank", s.rank)
	}
	if s.normed {
		s.mixerEps = c.Float("mixer_rms_eps", 1e-6)
	}
	if s.kernel > mostKernel {
		c.Failf("a convolution of %d", s.kernel)
	}
	tied := c.Bool("tie_word_embeddings", true)
	c.Ignore("residual_in_fp32", "rescale_prenorm_residual", "time_step_scale", "time_step_min", "time_step_max", "time_step_init_scheme", "time_step_floor",
		"use_mambapy", "use_associative_scan", "use_falcon_mambapy", "layer_types", "d_model", "d_inner", "n_layer", "ssm_cfg", "rms_norm", "fused_add_norm", "pad_vocab_size_multiple")
	return mixers{mostSteps, s.vocabulary, s.width, s.layers, s.eps, tied}.model(c, s.mix)
}

// mix is the mixer of a layer, whose names begin with at, for x of shape [tokens, width].
func (s *selective) mix(n *net, x graph.Value, at string) graph.Value {
	all := n.linear(x, at+"in_proj", 2*s.inner, s.bias)
	gate := n.columns(all, s.inner, s.inner)
	x = n.activate(s.act, (&stateSpace{kernel: s.kernel, convBias: s.convBias}).convolve(n, n.columns(all, 0, s.inner), at+"conv1d"))
	from := n.linear(x, at+"x_proj", s.rank+2*s.state, false)
	part := func(start, count int) graph.Value {
		y := n.columns(from, start, count)
		if s.normed {
			y = n.Norm(graph.Norm{Axes: []int{1}, Epsilon: s.mixerEps}, y)
		}
		return y
	}
	step := n.Apply(graph.Softplus, n.linear(part(0, s.rank), at+"dt_proj", s.inner, true))
	n.At("", at+"state")
	y := s.scan(n, step, n.Mul(step, x), part(s.rank, s.state), part(s.rank+s.state, s.state), at)
	y = n.Add(y, n.Mul(x, n.weight(at+"D", []int{s.inner})))
	return n.linear(n.Mul(y, n.activate(activations["silu"], gate)), at+"out_proj", s.width, s.bias)
}

// scan returns what the tokens read from the states, of shape [tokens, inner]. For each token and channel the state h, a vector of state
// numbers, becomes h·exp(step·rate) + value·write, and the result is the product of h and read. step and value have shape [tokens, inner],
// write and read have shape [tokens, state].
func (s *selective) scan(n *net, step, value, write, read graph.Value, at string) graph.Value {
	t := n.tokens
	rate := n.rates(at, s.inner, s.state)
	decay := n.Apply(graph.Exp, n.Clip(n.Mul(n.Reshape(step, []int{t, s.inner, 1}), rate), -16, 0)) // exp(−16) is as good as 0
	added := n.Mul(n.Reshape(value, []int{t, s.inner, 1}), n.Reshape(write, []int{t, 1, s.state}))
	if !n.Valid(decay) || !n.Valid(added) {
		return added
	}
	of := func(x graph.Value, token int) graph.Value { return n.SliceAxis(x, 0, token, 1, 1) }
	states, left := []graph.Value{of(added, 0)}, []graph.Value(nil)
	for i := 1; i < t; i++ {
		left = append(left, n.Mul(states[i-1], of(decay, i)))
		states = append(states, n.Add(left[i-1], of(added, i)))
	}
	n.Alike(left)
	n.Alike(states)
	all := n.Concat(0, states...)
	y := n.MatMul(all, n.Reshape(read, []int{t, s.state, 1}))
	return n.Reshape(y, []int{t, s.inner})
}
