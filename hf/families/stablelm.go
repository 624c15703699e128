package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// stableLM is StableLM. It has LayerNorm and rotary positions in a part of each head. If qk_layernorm is
// set, every head of queries and keys has a norm with a weight of its own.
func stableLM(c *published, d *decoder) {
	d.layerNorms(c, "layer_norm_eps")
	d.act = activationOf(c, "hidden_act", "silu")
	d.turns(c, 0.25)
	d.qkvBias = c.Bool("use_qkv_bias", false)
	if d.parallel = c.Bool("use_parallel_residual", false); d.parallel {
		d.norms = [4]string{"input_layernorm"}
	}
	if c.Bool("qk_layernorm", false) {
		d.eachNorm = func(n *net, x graph.Value, at, which string) graph.Value {
			if !n.Valid(x) {
				return x
			}
			return n.Concat(1, filled(n.dim(x, 1), func(i int) graph.Value {
				w := n.weight(fmt.Sprintf("%s%s_layernorm.norms.%d.weight", at, which, i), []int{d.dim})
				return n.LayerNorm(n.SliceAxis(x, 1, i, 1, 1), 2, d.eps, w)
			})...)
		}
	}
}
