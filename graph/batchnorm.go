package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/refuse"
)

// BatchNorm is x·scale + shift along axis 1.
type BatchNorm struct{}

func (BatchNorm) kind() string { return "BatchNormalization" }

func (BatchNorm) takes() operands { return operands{3, 3, floats} }

func (BatchNorm) infer(in []operandType) operandType {
	x := in[0].shape
	refuse.If(len(x) < 2, "its input has shape %v, without a channel axis", x)
	for _, t := range in[1:] {
		refuse.If(!slices.Equal(t.shape, x[1:2]), "a factor of shape %v for an input of shape %v", t.shape, x)
	}
	return operandType{shape: x, dtype: Float}
}

func (BatchNorm) eval(in []operand, shape []int) operand {
	x := in[0].float64s()
	scale, shift := in[1].float64s(), in[2].float64s()
	inner := Size(shape[2:])
	out := make([]float64, len(x))
	for i, v := range x {
		c := i / inner % shape[1]
		out[i] = float64(v*scale[c]) + shift[c]
	}
	return operand{shape: shape, f: out}
}

// Statistics are the trained constants of a BatchNorm, with one element for each channel,
// and the number that is added to the variance.
type Statistics struct {
	Scale, Bias, Mean, Variance Value
	Epsilon                     float64
}

// BatchNorm normalises x along axis 1. Where possible, [Builder.Graph] folds it into
// the Conv or Gemm before it.
func (b *Builder) BatchNorm(x Value, s Statistics) (made Value) {
	defer b.refused(&made)
	var p [4]*Tensor
	for i, v := range []Value{s.Scale, s.Bias, s.Mean, s.Variance} {
		b.need(x, v)
		if p[i] = b.Tensor(v); p[i] == nil || !p[i].DType.IsFloat() {
			return b.Failf("%s must be a float constant", Quote(b.Name(v)))
		}
		shape := b.Shape(x)
		refuse.If(len(shape) < 2, "its input has shape %v, without a channel axis", shape)
		refuse.If(!slices.Equal(p[i].Shape, shape[1:2]),
			"%s has shape %v; %v is expected", Quote(b.Name(v)), p[i].Shape, shape[1:2])
	}
	c := p[0].Len()
	scale, shift := make([]float32, c), make([]float32, c)
	for i := range scale {
		s := p[0].At(i) / math.Sqrt(p[3].At(i)+s.Epsilon)
		scale[i] = float32(s)
		shift[i] = float32(p[1].At(i) - float64(s*p[2].At(i)))
	}
	refuse.If(FirstNonFinite(scale) >= 0 || FirstNonFinite(shift) >= 0,
		"its statistics give a factor that is not finite")
	return b.emit(BatchNorm{}, x, b.floats("scale", []int{c}, scale), b.floats("shift", []int{c}, shift))
}

// foldChannels folds each BatchNorm, and each product or sum with a constant that is one
// number or one number for each channel, into the weights and bias of the Conv or Gemm
// before it, if its weights are constant and nothing else reads its result.
func (b *Builder) foldChannels() {
	uses := b.readers()
	for _, out := range b.outputs {
		uses[out.value]++
	}
	kept := b.nodes[:0]
	for _, n := range b.nodes {
		if a, ok := n.channels(); ok {
			if p := a.of.node; p != nil && uses[a.of] == 1 && p.scalable() && b.foldAffine(p, n, a) {
				continue
			}
		}
		kept = append(kept, n)
	}
	b.nodes = kept
}

// perChannel is of·scale + shift along axis 1. scale and shift have one element, or one
// for each channel; they are nil if there is no such factor or summand.
type perChannel struct {
	of           *value
	scale, shift *Tensor
}

// channels returns a node as a perChannel, if it is one.
func (n *node) channels() (perChannel, bool) {
	switch n.op {
	case BatchNorm{}:
		return perChannel{n.in[0], n.in[1].tensor, n.in[2].tensor}, true
	case Mul, Add, Sub:
		x, c := n.in[0], n.in[1]
		if x.tensor != nil && n.op != Sub {
			x, c = c, x
		}
		if x.tensor != nil || c.tensor == nil || !c.tensor.DType.IsFloat() || !slices.Equal(x.shape, n.out.shape) || !alongChannels(c.shape, x.shape) || masks(c.tensor) {
			return perChannel{}, false
		}
		switch n.op {
		case Mul:
			return perChannel{of: x, scale: c.tensor}, true
		case Add:
			return perChannel{of: x, shift: c.tensor}, true
		}
		minus := filled(c.tensor.Len(), func(i int) float32 { return -float32(c.tensor.At(i)) })
		return perChannel{of: x, shift: &Tensor{Shape: c.shape, DType: Float, F32: minus}}, true
	}
	return perChannel{}, false
}

// masks reports whether a constant has a number whose magnitude is at least that of
// masked.
func masks(t *Tensor) bool {
	return slices.ContainsFunc(t.Floats(), func(x float32) bool { return math.Abs(float64(x)) >= -masked })
}

// alongChannels reports whether a constant that is broadcast to a shape has one
// element, or one for each index of axis 1.
func alongChannels(c, shape []int) bool {
	if Size(c) == 1 {
		return true
	}
	skip := len(shape) - len(c)
	for i, d := range c {
		if d != 1 && i+skip != 1 {
			return false
		}
	}
	return Size(c) == shape[1]
}

// scalable says whether n is a Conv or Gemm with constant weights, and with a bias (if
// any) that is a constant with one element for each channel.
func (n *node) scalable() bool {
	switch n.op.(type) {
	case Conv, Gemm:
	default:
		return false
	}
	if n.in[1].tensor == nil {
		return false
	}
	if len(n.in) < 3 {
		return true
	}
	bias := n.in[2].tensor
	return bias != nil && len(bias.Shape) > 0 && Size(bias.Shape) == n.out.shape[1] && bias.Shape[len(bias.Shape)-1] == Size(bias.Shape)
}

// foldAffine folds n, which is a applied to the result of the Conv or Gemm p, into p. It
// multiplies a copy of p's weights (since other nodes may share them), changes p's bias,
// and lets p compute n's result. It returns false and does nothing if a number would
// overflow, or if the budget does not allow the copy.
func (b *Builder) foldAffine(p, n *node, a perChannel) bool {
	c := p.out.shape[1]
	scale := func(int) float64 { return 1 }
	if a.scale != nil {
		scale = func(i int) float64 { return a.scale.At(i % a.scale.Len()) }
	}
	weights := p.in[1]
	// add makes a constant, named after base and n.
	add := func(base string, t *Tensor) *value {
		return &value{name: b.unique(base + "/" + n.name), shape: t.Shape, dtype: Float, tensor: t}
	}
	if a.scale != nil {
		w := weights.tensor
		// Index of the channel of weight i: i/inner mod c.
		inner := 1
		if g, ok := p.op.(Gemm); !ok || g.TransB {
			inner = w.Len() / c
		}
		if !b.spend(w.Len()) {
			return false
		}
		nw := &Tensor{Shape: w.Shape, DType: Float, F32: make([]float32, w.Len())}
		rows := w.Len() / inner // each belongs to one channel
		parallel.For(rows, max(1, grain/inner), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				s := scale(r % c)
				for i := r * inner; i < (r+1)*inner; i++ {
					nw.F32[i] = float32(w.At(i) * s)
				}
			}
		})
		if FirstNonFinite(nw.F32) >= 0 {
			return false
		}
		weights = add(weights.name, nw)
	}
	nb := &Tensor{Shape: []int{c}, DType: Float, F32: filled(c, func(i int) float32 {
		v := 0.0
		if a.shift != nil {
			v = a.shift.At(i % a.shift.Len())
		}
		if len(p.in) > 2 {
			bias := p.in[2].tensor
			v += float64(bias.At(i) * scale(i))
		}
		return float32(v)
	})}
	if FirstNonFinite(nb.F32) >= 0 {
		return false
	}
	p.in = []*value{p.in[0], weights, add(n.name+"/bias", nb)}
	p.out = n.out
	p.out.node = p
	return true
}
