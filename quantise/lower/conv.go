package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

func init() {
	register(lowerConv, always[graph.Conv](Traits{Product: ConvProduct}))
	register(lowerBatchNorm, always[graph.BatchNorm](Traits{}))
}

// windows returns the sliding windows of a Conv or pooling node, one for each spatial
// axis.
func windows(g graph.Window) []fixed.Window {
	w := make([]fixed.Window, len(g.Kernel))
	for i := range w {
		w[i] = fixed.Window{Base: -g.Begin[i], Stride: g.Strides[i], Taps: g.Kernel[i], Dilation: g.Dilations[i]}
	}
	return w
}

// lowerConv lowers Conv as a product of the weights with a view of the input
// that has an axis for the taps of each spatial axis (im2col, never
// materialised by the prover). Groups are a batch axis.
func lowerConv(l *lowering, op graph.Conv, v *value, in []*value) {
	x, name := in[0], v.node.Inputs[1]
	refuse.If(x == nil, "a constant input is not supported")
	kernel := l.fg.Shapes[name]
	group, ws := op.Group, windows(op.Window)
	spatial := v.shape[2:]
	m, ic := v.shape[1], kernel[1]
	channels, channelLabels := []int{m}, []int{1}
	if group > 1 {
		channels, channelLabels = []int{group, m / group}, []int{1, 2}
	}
	out := slices.Concat(x.shape[:1], channels, spatial) // N, [G,] M/G, spatial
	shape, labels := slices.Clone(channels), slices.Clone(channelLabels)
	first := len(out) - len(spatial) // label of the first spatial axis
	free := len(out)                 // the next contracted label
	// The view's axes: N, [G,] IC, a tap axis for each window, the spatial axes.
	view := &model.View{Groups: []model.Group{fixed.Axis(0, 0)}}
	dims, colLabels := []int{x.shape[0]}, []int{0}
	axis := func(dim, label int) int {
		dims, colLabels = append(dims, dim), append(colLabels, label)
		return len(dims) - 1
	}
	contracted := func(dim int) int {
		labels, shape = append(labels, free), append(shape, dim)
		free++
		return axis(dim, free-1)
	}
	if group > 1 {
		axis(group, 1)
		c := contracted(ic)
		view.Groups = append(view.Groups, model.Group{Out: []int{1, c}, In: []int{1}, Map: model.MapReshape})
	} else {
		view.Groups = append(view.Groups, fixed.Axis(contracted(ic), 1))
	}
	taps := make([]int, len(ws))
	pointwise := true
	for i, w := range ws {
		taps[i] = -1
		if w.Taps > 1 {
			taps[i] = contracted(w.Taps)
		}
		pointwise = pointwise && w.Taps == 1 && w.Stride == 1 && w.Base == 0 && spatial[i] == x.shape[2+i]
	}
	for i, w := range ws {
		if pos := axis(spatial[i], first+i); taps[i] < 0 {
			view.Groups = append(view.Groups, w.Tap(pos, 2+i, 0))
		} else {
			view.Groups = append(view.Groups, w.Spread(taps[i], pos, 2+i))
		}
	}
	operand := func(id model.TensorID) (model.TensorID, []int) {
		if pointwise && group == 1 {
			return id, colLabels
		}
		return l.Viewed("windows of "+l.Circuit.Tensors[id].Name, id, view, dims), colLabels
	}
	count := model.Size(kernel[1:])
	var add bias
	if len(v.node.Inputs) > 2 {
		c := l.fg.Consts[v.node.Inputs[2]]
		refuse.If(c == nil, "only a constant bias is supported")
		add = bias{v.node.Inputs[2], l.numbersOf(c), channels, fixed.LabelView(channelLabels, out)}
	}
	if t := l.fg.Consts[name]; t != nil {
		l.weighted(v, x, weighting{
			name: name, t: l.constant(t), shape: shape, labels: labels, channels: m, inner: count, count: count, out: out,
			operand: operand, bias: add,
		})
		return
	}
	// Computed weights.
	ida, idb := l.fitProduct(v, x, in[1], contraction{count: count})
	ida, colLabels = operand(ida)
	idb = l.Reshaped(l.Circuit.Tensors[idb].Name, idb, shape)
	v.acc = l.Product(out, ida, colLabels, idb, labels, count)
	if len(v.node.Inputs) > 2 {
		v.acc = l.plusBias(l.align([]term{{v, v.acc}}, add.most(), v), add)
	}
}

// magnitudeOf is the largest absolute value.
func magnitudeOf(values []float64) float64 {
	most := 0.0
	for _, x := range values {
		most = math.Max(most, math.Abs(x))
	}
	return most
}

// lowerBatchNorm lowers x·scale + shift, with a constant scale and shift for each index of axis 1.
func lowerBatchNorm(l *lowering, _ graph.BatchNorm, v *value, in []*value) {
	x, scale, shift := in[0], l.fg.Consts[v.node.Inputs[1]], l.fg.Consts[v.node.Inputs[2]]
	refuse.If(x == nil || scale == nil || shift == nil, "only constant scale and shift are supported")
	l.alongAxis(v, x, 1, v.node.Inputs[1], l.constant(scale), v.node.Inputs[2], l.numbersOf(shift))
}

// alongAxis lowers v = x·scale + shift, with a constant factor and summand for each index of the given axis, as a product with
// weights and a bias.
func (l *lowering) alongAxis(v, x *value, axis int, name string, scale *weights.Constant, shiftName string, shift numbers) {
	labels, n := model.Axes(len(v.shape)), v.shape[axis]
	l.weighted(v, x, weighting{
		name: name, t: scale, shape: []int{n}, labels: []int{axis}, channels: n, inner: 1, count: 1, out: v.shape,
		operand: func(id model.TensorID) (model.TensorID, []int) { return id, labels },
		bias:    bias{shiftName, shift, []int{n}, fixed.LabelView([]int{axis}, v.shape)},
	})
}
