package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/prover/parallel"
)

// BatchNorm is x·scale + shift along axis 1.
type BatchNorm struct{}

// Kind implements [Op].
func (BatchNorm) Kind() string { return "BatchNormalization" }

func (BatchNorm) infer(in []operandType) (operandType, error) {
	if err := arity(in, 3, 3); err != nil {
		return operandType{}, err
	}
	if err := floats(in...); err != nil {
		return operandType{}, err
	}
	x := in[0].shape
	if len(x) < 2 {
		return operandType{}, fmt.Errorf("its input has shape %v, without a channel axis", x)
	}
	for _, t := range in[1:] {
		if !slices.Equal(t.shape, x[1:2]) {
			return operandType{}, fmt.Errorf("a factor of shape %v for an input of shape %v", t.shape, x)
		}
	}
	return operandType{shape: x, dtype: Float}, nil
}

func (BatchNorm) eval(in []operand, shape []int) (operand, error) {
	x := in[0].float64s()
	scale, shift := in[1].float64s(), in[2].float64s()
	inner := Size(shape[2:])
	out := make([]float64, len(x))
	for i, v := range x {
		c := i / inner % shape[1]
		out[i] = float64(v*scale[c]) + shift[c]
	}
	return operand{shape: shape, f: out}, nil
}

// Statistics are what a BatchNorm was trained to: constants with one element a
// channel, and what is added to the variance.
type Statistics struct {
	Scale, Bias, Mean, Variance Value
	Epsilon                     float64
}

// BatchNorm normalises x along axis 1. [Builder.Graph] puts it into the Conv or
// Gemm before it where it can.
func (b *Builder) BatchNorm(x Value, s Statistics) Value {
	var p [4]*Tensor
	for i, v := range []Value{s.Scale, s.Bias, s.Mean, s.Variance} {
		if !b.valid(x, v) {
			return Value{}
		}
		if p[i] = b.Tensor(v); p[i] == nil || p[i].F32 == nil {
			return b.Failf("%s must be a float constant", Quote(b.Name(v)))
		}
		shape := b.Shape(x)
		if len(shape) < 2 {
			return b.Failf("its input has shape %v, without a channel axis", shape)
		}
		if !slices.Equal(p[i].Shape, shape[1:2]) {
			return b.Failf("%s has shape %v; %v is expected", Quote(b.Name(v)), p[i].Shape, shape[1:2])
		}
	}
	c := p[0].Len()
	scale, shift := make([]float32, c), make([]float32, c)
	for i := range scale {
		s := p[0].At(i) / math.Sqrt(p[3].At(i)+s.Epsilon)
		scale[i] = float32(s)
		shift[i] = float32(p[1].At(i) - float64(s*p[2].At(i)))
	}
	if FirstNonFinite(scale) >= 0 || FirstNonFinite(shift) >= 0 {
		return b.Failf("its statistics give a factor that is not finite")
	}
	return b.emit(BatchNorm{}, x, b.floats("scale", []int{c}, scale), b.floats("shift", []int{c}, shift))
}

// foldBatchNorms puts each BatchNorm into the weights of the Conv or Gemm before
// it, where that has constant weights and no other consumer.
func (b *Builder) foldBatchNorms() error {
	uses := map[*value]int{}
	for _, out := range b.outputs {
		uses[out.value]++
	}
	for _, n := range b.nodes {
		for _, in := range n.in {
			uses[in]++
		}
	}
	kept := b.nodes[:0]
	for _, n := range b.nodes {
		if _, ok := n.op.(BatchNorm); ok {
			if p := n.in[0].node; p != nil && uses[n.in[0]] == 1 && p.scalable() {
				if err := b.foldBatchNorm(p, n); err != nil {
					return err
				}
				continue
			}
		}
		kept = append(kept, n)
	}
	b.nodes = kept
	return nil
}

// scalable says whether n is a Conv or Gemm with weights and bias (if any)
// that a channel's factor can go into.
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
	return bias != nil && Size(bias.Shape) == n.out.shape[1] && bias.Shape[len(bias.Shape)-1] == Size(bias.Shape)
}

// foldBatchNorm multiplies p's weights, which other nodes may share and which
// are therefore copied, and takes the place of bn.
func (b *Builder) foldBatchNorm(p, bn *node) error {
	w := p.in[1].tensor
	scale, shift := bn.in[1].tensor, bn.in[2].tensor
	c := scale.Len()
	// Index of the channel of weight i: i/inner mod c.
	inner := 1
	if g, ok := p.op.(Gemm); !ok || g.TransB {
		inner = w.Len() / c
	}
	if !b.spend(w.Len()) {
		return fmt.Errorf("folding constants makes too many elements")
	}
	nw := &Tensor{Shape: w.Shape, DType: Float, F32: make([]float32, w.Len())}
	rows := w.Len() / inner // each of one channel
	parallel.For(rows, max(1, grain/inner), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			s := scale.At(r % c)
			for i := r * inner; i < (r+1)*inner; i++ {
				nw.F32[i] = float32(w.At(i) * s)
			}
		}
	})
	nb := &Tensor{Shape: []int{c}, DType: Float, F32: make([]float32, c)}
	for i := range nb.F32 {
		v := shift.At(i)
		if len(p.in) > 2 {
			v += float64(p.in[2].tensor.At(i) * scale.At(i))
		}
		nb.F32[i] = float32(v)
	}
	if FirstNonFinite(nw.F32) >= 0 || FirstNonFinite(nb.F32) >= 0 {
		return NodesError{{Op: bn.op.Kind(), Name: bn.name, Reason: "folding it into " + Quote(p.name) + " overflows"}}
	}
	add := func(base string, t *Tensor) *value {
		return &value{name: b.unique(base + "/" + bn.name), shape: t.Shape, dtype: Float, tensor: t}
	}
	p.in = []*value{p.in[0], add(p.in[1].name, nw), add(bn.name+"/bias", nb)}
	p.out = bn.out
	p.out.node = p
	return nil
}
