package families

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
)

// clamped are the experts of GPT-OSS (OpenAI 2025, https://arxiv.org/abs/2508.10925). Their linear layers have biases. The gate is clamped
// from above, and the factor beside it on both sides. The file has the matrices of all experts in one tensor.
type clamped struct {
	count, chosen, inner int     // experts in all, experts that a token uses, and the inner width of an expert
	alpha, limit         float64 // the activation is x·Sigmoid(alpha·x), and the bound of clamping
}

// gptOSS is GPT-OSS. By default every other layer, from the first on, has a window. Each head has an attention sink, and all layers have
// experts.
func gptOSS(c *published, d *decoder) {
	d.eps = c.Float("rms_norm_eps", 1e-5)
	d.context = c.Int("max_position_embeddings", 131072)
	d.turn(ropeOf(c, d.dim, d.context, 150000))
	d.windows(c, func(layer int) bool { return layer%2 == 0 })
	d.attentionBias(c, true)
	d.sinks = true
	d.fixed = true // the mask beside the sinks' scores is made for one length of texts
	e := &clamped{
		count: c.count("num_local_experts", 0), chosen: c.Int("num_experts_per_tok", c.Int("experts_per_token", 4)), inner: d.inner,
		alpha: c.Float("swiglu_alpha", 1.702), limit: c.Float("swiglu_limit", 7),
	}
	if !c.Has("num_local_experts") {
		c.Failf("field \"num_local_experts\" is missing")
	}
	if e.chosen > e.count {
		c.Failf("%d of %d experts", e.chosen, e.count)
	}
	d.clamped = e
	c.Is("hidden_act", "silu")
	c.Is("experts_per_token", e.chosen)
	if q := c.Sub("quantization_config"); q != nil {
		q.Is("quant_method", "mxfp4")
		q.Ignore("modules_to_not_convert")
	}
	c.Ignore("initial_context_length", "num_experts", "output_router_logits", "router_aux_loss_coef")
}

// feed returns, for each row of x, the sum of the chosen experts' results times their weights. The weights are the Softmax of the chosen
// experts' router scores.
func (e *clamped) feed(n *net, x graph.Value, at string, width int) graph.Value {
	scores := n.linear(x, at+"router", e.count, true)
	n.At("", at+"router")
	slots := n.Slots(scores, e.chosen)
	weights := n.Softmax(n.InSlots(scores, slots), 1)
	gate := n.Clip(e.linear(n, x, slots, at+"experts.gate_up_proj", 0, 2, e.inner), math.Inf(-1), e.limit)
	up := n.Clip(e.linear(n, x, slots, at+"experts.gate_up_proj", 1, 2, e.inner), -e.limit, e.limit)
	y := n.Mul(n.Add(up, n.Number(1)), n.Apply(graph.Swish, gate, e.alpha))
	return n.MixSlots(e.linear(n, y, slots, at+"experts.down_proj", 0, 1, width), weights)
}

// linear returns x·W + bias for the experts in slots, where W has out columns: those of the expert's stored matrix with the numbers first,
// first + step, first + 2·step and so on. With step 2 it takes the gate (first 0) or the other factor (first 1) of an interleaved matrix.
func (e *clamped) linear(n *net, x, slots graph.Value, name string, first, step, out int) graph.Value {
	if !n.Valid(x) || !n.Valid(slots) {
		return slots
	}
	label := fmt.Sprintf("%s.%d", name, first)
	n.At("", label)
	in := n.dim(x, -1)
	full := n.src.prefix + name
	b := n.once(label+"_bias", func() *graph.Tensor {
		all := n.src.load(full+"_bias", []int{e.count, step * out}).Floats()
		return &graph.Tensor{Shape: []int{e.count, out}, DType: graph.Float, F32: filled(e.count*out, func(i int) float32 { return all[i*step+first] })}
	})
	w := n.once(label, func() *graph.Tensor {
		if n.src.set.Get(full+"_blocks") != nil {
			return e.blocks(n.src, label, full, [2]int{first, step}, out, in)
		}
		return e.plain(n.src, full, [2]int{first, step}, out, in)
	})
	return n.Add(n.Experts(x, w, slots), n.MatMul(slots, b))
}

// plain returns the matrices of all experts, of shape [experts, out, in], from a tensor of floats of shape [experts, in, step·out]. of has
// first and step, as in linear.
func (e *clamped) plain(src *source, full string, of [2]int, out, in int) *graph.Tensor {
	first, step := of[0], of[1]
	all := src.load(full, []int{e.count, in, step * out})
	row := make([]float32, step*out)
	v := make([]float32, e.count*in*out)
	for k := range e.count * in {
		all.Read(row, k*len(row))
		for o := range out {
			v[(k/in*out+o)*in+k%in] = row[o*step+first]
		}
	}
	return &graph.Tensor{Shape: []int{e.count, out, in}, DType: graph.Float, F32: v}
}

// block is how many numbers of MXFP4 share a scale.
const block = 32

// blocks is plain for matrices stored in MXFP4. The numbers are in a tensor of shape [experts, step·out, in/32, 16], two to a byte, the
// first in the lower half; the scales are in one of shape [experts, step·out, in/32]. A scale byte s means 2^(s − 127).
func (e *clamped) blocks(src *source, label, full string, of [2]int, out, in int) *graph.Tensor {
	first, step := of[0], of[1]
	b, s := src.set.Get(full+"_blocks"), src.set.Get(full+"_scales")
	src.used[full+"_blocks"], src.used[full+"_scales"] = true, true
	rows := in / block
	switch {
	case in%block != 0:
		refuse.With("rows of %d numbers are no blocks of %d", in, block)
	case s == nil:
		refuse.With("the weights have no tensor %s", graph.Quote(full+"_scales"))
	case b.Type != "U8" || s.Type != "U8":
		refuse.With("tensors %s and its scales have types %s and %s, not U8", graph.Quote(full+"_blocks"), b.Type, s.Type)
	case !slices.Equal(b.Shape, []int{e.count, step * out, rows, block / 2}) || !slices.Equal(s.Shape, []int{e.count, step * out, rows}):
		refuse.With("tensors %s and its scales have shapes %v and %v; the configuration asks for %d experts of [%d, %d]",
			graph.Quote(full+"_blocks"), b.Shape, s.Shape, e.count, step*out, in)
	case slices.Contains(s.Raw, 255):
		refuse.With("tensor %s has a scale that is not a number", graph.Quote(full+"_scales"))
	}
	read := func(dst []float32, from int) {
		for i := range dst {
			at := from + i                     // index in the result, [experts, out, in]
			k := (at/in*step+first)*in + at%in // index in the stored tensor, [experts, step·out, in]
			q := b.Raw[k/2] >> (k % 2 * 4) & 15
			dst[i] = fp4[q&7] * float32(math.Ldexp(1, int(s.Raw[k/block])-127))
			if q >= 8 {
				dst[i] = -dst[i]
			}
		}
	}
	return src.stored(label, []int{e.count, out, in}, read)
}

// fp4 are the magnitudes of four-bit floats (E2M1), by their lower three bits.
var fp4 = [8]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6}
