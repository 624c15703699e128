package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// swinLayers is the Swin Transformer (Liu et al. 2021, https://arxiv.org/abs/2103.14030). A patch attends to the patches of its
// window. In every second layer the windows are shifted by half their side. Between stages, each square of 2×2 patches becomes one.
type swinLayers struct {
	side, patch, channels, window int     // sides of the image and of a patch in pixels, and of a window in patches
	width                         int     // of the first stage; each stage has twice the width of the one before
	depths, heads                 []int   // layers, and heads of attention, of each stage
	ratio, eps                    float64 // the inner width of feed-forward parts is ratio times the width
	bias, placed                  bool    // queries, keys and values have biases; there are position embeddings
	act                           activation
}

// swinNorm is the epsilon of the norms for which the configuration has no field.
const swinNorm = 1e-5

// swin is Swin. If the file has a classifier, the output is its logits, for the mean of all patches; else the last hidden state.
func swin(c *published) *Model {
	s := &swinLayers{
		side: c.Int("image_size", 224), patch: c.Int("patch_size", 4), channels: c.Int("num_channels", 3), window: c.Int("window_size", 7),
		width: c.Int("embed_dim", 96), depths: counts(c, "depths"), heads: counts(c, "num_heads"), ratio: c.Float("mlp_ratio", 4),
		eps: c.Float("layer_norm_eps", 1e-5), bias: c.Bool("qkv_bias", true), placed: c.Bool("use_absolute_embeddings", false),
		act: activationOf(c, "hidden_act", "gelu"),
	}
	c.patches(s.patch, s.side)
	if len(s.depths) != len(s.heads) || len(s.depths) == 0 {
		c.Failf("%d stages, and heads of %d", len(s.depths), len(s.heads))
	}
	side, layers := s.side/s.patch, 0
	for i, depth := range s.depths {
		if side < s.window {
			c.Failf("stage %d is of %d patches a side, and windows are of %d", i, side, s.window)
		}
		if i < len(s.heads) && (s.width<<i)%s.heads[i] != 0 {
			c.Failf("stage %d: %d heads do not share %d numbers evenly", i, s.heads[i], s.width<<i)
		}
		side, layers = (side+1)/2, layers+depth
	}
	if inner := s.ratio * float64(s.width); !(inner >= 1 && inner <= 1<<20) {
		c.Failf("feed-forward parts of %v", inner)
	}
	c.Ignore("drop_path_rate", "encoder_stride", "hidden_size", "num_layers", "path_norm", "out_features", "_out_features", "out_indices", "_out_indices",
		"stage_names")
	src := c.source("embeddings.norm.weight", "swin.", "")
	classes := classOf(c, "classifier")
	return (&Model{Layers: layers}).builds(src, func(n *net) {
		if x := s.run(n); classes == nil {
			n.output("last_hidden_state", x)
		} else if n.Valid(x) {
			n.Output(Logits, classes(n, n.Reduce(graph.Mean, x, []int{0}, true)))
		}
	}, "relative_position_index", "embeddings.mask_token", ".attn_mask")
}

// counts reads a list of whole numbers from 1 on. Each counts something that has tensors, such as layers, so that the number of tensors
// bounds it.
func counts(c *published, name string) []int {
	var out []int
	for _, f := range c.Numbers(name) {
		if f != float64(int(f)) || f < 1 || int(f) > len(c.set.Names()) {
			c.Failf("field %q has %v, and the weights are %d tensors", name, f, len(c.set.Names()))
			return nil
		}
		out = append(out, int(f))
	}
	return out
}

// run returns the last hidden state, of shape [patches of the last stage, width].
func (s *swinLayers) run(n *net) graph.Value {
	side, width := s.side/s.patch, s.width
	x := n.layerNorm(n.patches(s.channels, s.side, s.patch, "embeddings.patch_embeddings.projection", width, true), "embeddings.norm", swinNorm)
	if s.placed {
		x = n.Add(x, n.Reshape(n.weight("embeddings.position_embeddings", []int{1, side * side, width}), []int{side * side, width}))
	}
	for stage, depth := range s.depths {
		at := "encoder." + layer(stage, "")
		for i := range depth {
			shift := 0
			if i%2 == 1 && side > s.window {
				shift = s.window / 2
			}
			x = s.layer(n, x, fmt.Sprintf("%sblocks.%d.", at, i), side, width, s.heads[stage], shift)
		}
		if stage+1 < len(s.depths) {
			x = n.merge(x, at+"downsample.", side)
			side, width = (side+1)/2, 2*width
		}
	}
	return n.layerNorm(x, "layernorm", s.eps)
}

// merge makes one patch of each square of 2×2 patches: it concatenates the four and projects them to half that width. x has side² rows. If
// side is odd, zeros stand for the patches beyond the edge.
func (n *net) merge(x graph.Value, at string, side int) graph.Value {
	var parts []graph.Value
	for k := range 4 {
		var from []int
		for row := k % 2; row < side+side%2; row += 2 {
			for column := k / 2; column < side+side%2; column += 2 {
				if row < side && column < side {
					from = append(from, row*side+column)
				} else {
					from = append(from, -1)
				}
			}
		}
		parts = append(parts, n.Gather(x, 0, from))
	}
	x = n.Concat(1, parts...)
	return n.linear(n.layerNorm(x, at+"norm", swinNorm), at+"reduction", n.dim(x, 1)/2, false)
}

// layer is attention within windows and the feed-forward part, each with a norm before it. x has side² rows, and shift is by how many
// patches the windows are shifted.
func (s *swinLayers) layer(n *net, x graph.Value, at string, side, width, heads, shift int) graph.Value {
	y := n.layerNorm(x, at+"layernorm_before", s.eps)
	into, back, mask := s.windows(side, shift)
	y = n.Gather(y, 0, into)
	self := at + "attention.self."
	windows, area, dim := len(into)/(s.window*s.window), s.window*s.window, width/heads
	part := func(name string, perm ...int) graph.Value {
		return n.Transpose(n.Reshape(n.linear(y, self+name, width, s.bias), []int{windows, area, heads, dim}), perm)
	}
	q, k, v := part("query", 0, 2, 1, 3), part("key", 0, 2, 3, 1), part("value", 0, 2, 1, 3)
	n.At("", at+"attention")
	scores := n.MatMul(n.Mul(q, n.Number(scaleOf(dim))), k)
	rows := (2*s.window - 1) * (2*s.window - 1)
	between := n.relative(self+"relative_position_bias", "_table", heads, rows, area, func(i, j int) int { return apart(i, j, s.window) })
	scores = n.Add(scores, n.Reshape(between, []int{1, heads, area, area}))
	if mask != nil {
		m := n.Constant(at+"mask", &graph.Tensor{Shape: []int{windows, 1, area, area}, DType: graph.Bool, I64: mask})
		scores = n.Where(m, scores, n.Number(-1e30))
	}
	y = n.Reshape(n.Transpose(n.MatMul(n.Softmax(scores, 3), v), []int{0, 2, 1, 3}), []int{len(into), width})
	x = n.Add(x, n.Gather(n.linear(y, at+"attention.output.dense", width, true), 0, back))
	y = n.layerNorm(x, at+"layernorm_after", s.eps)
	y = n.activate(s.act, n.linear(y, at+"intermediate.dense", int(s.ratio*float64(width)), true))
	return n.Add(x, n.linear(y, at+"output.dense", width, true))
}

// windows cuts a square of side² patches, filled up to whole windows and shifted cyclically, into windows. into lists the patches
// window by window, with −1 for places beyond the square. back has the index in into of each patch. mask, of shape [windows, 1,
// area, area], is 1 where two places of a window come from the same part of the square; the shift brings patches of opposite edges into
// one window, which must not attend to each other. mask is nil if shift is 0.
func (s *swinLayers) windows(side, shift int) (into, back []int, mask []int64) {
	across := (side + s.window - 1) / s.window
	full := across * s.window
	region := func(i int) int { // the part of the square that a row or a column comes from, by its place after the shift
		switch {
		case i >= full-shift:
			return 2
		case i >= full-s.window:
			return 1
		}
		return 0
	}
	back = make([]int, side*side)
	var parts []int
	for w := range across * across {
		for p := range s.window * s.window {
			row, column := w/across*s.window+p/s.window, w%across*s.window+p%s.window
			parts = append(parts, 3*region(row)+region(column))
			row, column = (row+shift)%full, (column+shift)%full
			if row < side && column < side {
				back[row*side+column] = len(into)
				into = append(into, row*side+column)
			} else {
				into = append(into, -1)
			}
		}
	}
	if shift == 0 {
		return into, back, nil
	}
	area := s.window * s.window
	return into, back, filled(len(parts)*area, func(at int) int64 {
		if i := at / area; parts[i] == parts[i/area*area+at%area] {
			return 1
		}
		return 0
	})
}
