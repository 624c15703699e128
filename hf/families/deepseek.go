package families

import "github.com/prove-model/prove-model/graph"

// latent is multi-head latent attention (DeepSeek-AI 2024, https://arxiv.org/abs/2405.04434, section 2.1). The keys and values of a token
// are projections of a short vector, its latent. So are the queries, if queries is not 0. The last elements of each head of queries and
// keys have rotary positions; for keys these elements are the same in all heads.
type latent struct {
	queries, keys         int // lengths of the latents of queries, and of keys and values; queries is 0 if queries have none
	plain, turned, values int // elements of a head: of queries and keys without and with positions, and of values
	scale                 float64
	rope                  *rope
	bias                  bool
}

// latentNorm is the epsilon of the norms of the latents. The configurations have no field for it.
const latentNorm = 1e-6

// deepSeek reads what DeepSeek V2 and V3 share.
func deepSeek(c *published, d *decoder) {
	d.act = activationOf(c, "hidden_act", "silu")
	l := &latent{
		keys: c.Int("kv_lora_rank", 512), plain: c.Int("qk_nope_head_dim", 128), turned: c.Int("qk_rope_head_dim", 64), values: c.Int("v_head_dim", 128),
		bias: c.Bool("attention_bias", false),
	}
	if c.Has("q_lora_rank") {
		l.queries = c.Int("q_lora_rank", 0)
	}
	l.rope = ropeOf(c, l.turned, d.context, 10000)
	l.rope.neighbours = c.Bool("rope_interleave", true)
	l.scale = scaleOf(l.plain + l.turned)
	if more := l.rope.further; more != 0 { // a factor of queries and of keys, so its square is one of the scores
		l.scale *= more * more
	}
	d.latent = l
	groups := c.Natural("n_group", 0)
	d.experts = &experts{
		count: c.count("n_routed_experts", 64), chosen: c.Int("num_experts_per_tok", 8), inner: c.Int("moe_intermediate_size", 1407),
		router: "mlp.gate", expert: "mlp.experts.%d.", gate: "gate_proj", up: "up_proj", down: "down_proj", sharedAt: "mlp.shared_experts.",
		factor: c.Float("routed_scaling_factor", 1), groups: groups, chosenGroups: c.Natural("topk_group", 0), best: 1,
	}
	e := d.experts
	if e.shared = e.inner * c.Natural("n_shared_experts", 2); e.shared > 1<<20 {
		c.Failf("field \"n_shared_experts\": shared experts of %d", e.shared)
	}
	dense := c.Natural("first_k_dense_replace", 0)
	d.sparse = func(layer int) bool { return layer >= dense }
	c.Is("moe_layer_freq", 1)
	if c.Natural("num_nextn_predict_layers", 0) > 0 { // these layers guess tokens after the next (multi-token prediction)
		d.unused = append(d.unused, layer(d.layers, ""))
	}
	c.Ignore("head_dim", "qk_head_dim", "ep_size", "seq_aux", "aux_loss_alpha", "num_experts", "num_local_experts")
}

// groupsOf records an error unless the experts divide into groups of equal size, and the chosen groups have enough experts to choose from.
func (e *experts) groupsOf(c *published) {
	if e.groups > 1 && (e.count%e.groups != 0 || e.chosenGroups < 1 || e.chosenGroups > e.groups || e.count/e.groups*e.chosenGroups < e.chosen) {
		c.Failf("%d experts in %d groups, of which %d are chosen, and %d experts of these", e.count, e.groups, e.chosenGroups, e.chosen)
	}
}

// deepSeek2 is DeepSeek V2, whose experts are chosen by Softmax.
func deepSeek2(c *published, d *decoder) {
	deepSeek(c, d)
	d.mlpBias = c.Bool("mlp_bias", false)
	c.Is("topk_method", "greedy", "group_limited_greedy")
	if c.Text("topk_method", "greedy") == "greedy" {
		d.experts.groups = 0
	}
	c.Is("norm_topk_prob", false)
	c.Is("scoring_func", "softmax")
	if d.mlpBias {
		c.Failf("field \"mlp_bias\": experts with biases are not supported")
	}
	d.experts.groupsOf(c)
}

// deepSeek3 is DeepSeek V3 and R1. Experts are chosen by the Sigmoid of their score plus a bias, and groups of experts by the sum of
// their best two.
func deepSeek3(c *published, d *decoder) {
	deepSeek(c, d)
	e := d.experts
	e.sigmoid, e.bias, e.best, e.share = true, "mlp.gate.e_score_correction_bias", 2, c.Bool("norm_topk_prob", true)
	c.Is("topk_method", "noaux_tc")
	c.Is("scoring_func", "sigmoid")
	e.groupsOf(c)
}

// attention is the attention of a layer, whose names begin with at, for x of shape [tokens, width].
func (l *latent) attention(n *net, d *decoder, at string, x graph.Value) graph.Value {
	t, dim := n.dim(x, 0), l.plain+l.turned
	var q graph.Value
	if l.queries > 0 {
		q = n.linear(n.rms(n.linear(x, at+"q_a_proj", l.queries, l.bias), at+"q_a_layernorm", latentNorm, false), at+"q_b_proj", d.heads*dim, false)
	} else {
		q = n.linear(x, at+"q_proj", d.heads*dim, false)
	}
	// part returns count elements of each head of x from element from on, of shape [tokens, heads, count]. A head has size elements.
	part := func(x graph.Value, heads, size, from, count int) graph.Value {
		return n.SliceAxis(n.Reshape(x, []int{t, heads, size}), 2, from, 1, count)
	}
	few := n.linear(x, at+"kv_a_proj_with_mqa", l.keys+l.turned, l.bias)
	kv := n.linear(n.rms(n.columns(few, 0, l.keys), at+"kv_a_layernorm", latentNorm, false), at+"kv_b_proj", d.heads*(l.plain+l.values), false)
	n.At("", at+"attention")
	q = n.Concat(2, n.Mul(part(q, d.heads, dim, 0, l.plain), n.Number(l.scale)), n.turn(l.rope, part(q, d.heads, dim, l.plain, l.turned), l.scale))
	turned := n.turn(l.rope, part(n.columns(few, l.keys, l.turned), 1, l.turned, 0, l.turned), 1)
	k := n.Concat(2, part(kv, d.heads, l.plain+l.values, 0, l.plain), n.Expand(turned, []int{t, d.heads, l.turned}))
	v := part(kv, d.heads, l.plain+l.values, l.plain, l.values)
	a := attention{name: at + "attention", heads: d.heads, groups: d.heads, dim: dim, value: l.values, scale: 1, causal: true}
	y := n.attend(a, n.Reshape(q, []int{t, d.heads * dim}), n.Reshape(k, []int{t, d.heads * dim}), n.Reshape(v, []int{t, d.heads * l.values}))
	return n.linear(y, at+d.out, d.width, l.bias)
}
