package families

import "github.com/prove-model/prove-model/graph"

// beit is BEiT: a vision transformer whose attention scores have biases that depend on the distance of two patches. Each
// layer has its own table of biases, or all share one.
func beit(c *published) *Model {
	e := imagesOf(c, "beit.", 1e-12, 16)
	e.inner, e.keyBias = c.Int("intermediate_size", 0), false
	e.placed = c.Bool("use_absolute_position_embeddings", false)
	if c.Float("layer_scale_init_value", 0.1) > 0 {
		e.factors = [2]string{"lambda_1", "lambda_2"}
	}
	own, shared := c.Bool("use_relative_position_bias", false), c.Bool("use_shared_relative_position_bias", false)
	if own && shared {
		c.Failf("biases of each layer and shared ones together are not supported")
	}
	const table = "relative_position_bias"
	across := e.side / e.patch
	// A row for each difference of two places, and one each for: the class token to a patch, a patch to the class token, and the class
	// token to itself.
	rows := (2*across-1)*(2*across-1) + 3
	between := func(n *net, name string) graph.Value {
		return n.relative(name, "."+table+"_table", e.heads, rows, n.tokens, func(i, j int) int {
			switch {
			case i == 0 && j == 0:
				return rows - 1
			case j == 0:
				return rows - 2
			case i == 0:
				return rows - 3
			}
			return apart(i-1, j-1, across)
		})
	}
	switch {
	case own:
		e.relative = func(n *net, at string) graph.Value { return between(n, at+"attention.attention."+table) }
	case shared:
		e.relative = func(n *net, _ string) graph.Value { return between(n, "encoder."+table) }
	}
	f := classOf(c, "classifier")
	if c.Bool("use_mean_pooling", true) {
		e.norm = ""
		if f != nil {
			e.classes = func(n *net, x graph.Value) graph.Value {
				x = n.Reduce(graph.Mean, n.SliceAxis(x, 0, 1, 1, n.tokens-1), []int{0}, true)
				return f(n, n.layerNorm(x, "pooler.layernorm", e.eps))
			}
		} else {
			e.unused = append(e.unused, "pooler.layernorm")
		}
	} else {
		e.classify(c, "classifier")
	}
	e.unused = append(e.unused, "relative_position_index", "embeddings.mask_token")
	c.Ignore("use_mask_token", "drop_path_rate", "pool_scales", "use_auxiliary_head", "auxiliary_loss_weight", "auxiliary_channels", "auxiliary_num_convs",
		"auxiliary_concat_input", "semantic_loss_ignore_index", "out_features", "_out_features", "out_indices", "_out_indices", "stage_names", "add_fpn",
		"reshape_hidden_states", "vocab_size")
	return e.model(c)
}

// apart is the row for places i and j of a square of across² places, numbered row by row, in a table with a row for each of the
// (2·across − 1)² differences of two places: those of the rows come first, then those of the columns, both from 1 − across on.
func apart(i, j, across int) int {
	rows, columns := i/across-j/across+across-1, i%across-j%across+across-1
	return rows*(2*across-1) + columns
}
