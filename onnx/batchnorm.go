package onnx

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/prover/parallel"
)

// lowerBatchNorm makes BatchNormalization x·scale + shift along axis 1, from
// the statistics that the model was trained to.
func lowerBatchNorm(o *op) {
	o.arity(5, 5)
	x := o.in(0)
	shape := o.shapes[x]
	eps := o.floatAttr("epsilon", 1e-5)
	if o.flagAttr("training_mode", false) {
		o.failf("training mode is not supported")
	}
	if !o.flagAttr("spatial", true) {
		o.failf("spatial = 0 is not supported")
	}
	o.ignore("momentum")
	if len(shape) < 2 {
		o.failf("its input has shape %v, without a channel axis", shape)
	}
	c := shape[1]
	var p [4]*Tensor // scale, bias, mean, variance
	for i := range p {
		v := o.in(i + 1)
		if p[i] = o.consts[v]; p[i] == nil || p[i].F32 == nil {
			o.failf("%s must be a float constant", quote(v))
		}
		if len(p[i].Shape) != 1 || p[i].Shape[0] != c {
			o.failf("%s has shape %v; %v is expected", quote(v), p[i].Shape, []int{c})
		}
	}
	scale, shift := make([]float32, c), make([]float32, c)
	for i := range scale {
		s := p[0].At(i) / math.Sqrt(p[3].At(i)+eps)
		scale[i] = float32(s)
		shift[i] = float32(p[1].At(i) - s*p[2].At(i))
	}
	if firstNonFinite(scale) >= 0 || firstNonFinite(shift) >= 0 {
		o.failf("its statistics give a factor that is not finite")
	}
	o.result(0, o.emit("BatchNormalization", shape, Float, []string{
		x, o.floats("scale", []int{c}, scale), o.floats("shift", []int{c}, shift),
	}))
}

// foldBatchNorms puts each BatchNormalization into the weights of the Conv or
// Gemm before it, where that has constant weights and no other consumer.
func (b *builder) foldBatchNorms() error {
	uses := map[string]int{}
	for _, out := range b.file.outputs {
		uses[out]++
	}
	for _, n := range b.nodes {
		for _, in := range n.Inputs {
			uses[in]++
		}
	}
	kept := b.nodes[:0]
	for _, n := range b.nodes {
		if n.Op == "BatchNormalization" {
			p := b.producer[n.Inputs[0]]
			if p != nil && uses[p.Output()] == 1 && b.scalable(p) {
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
func (b *builder) scalable(n *Node) bool {
	if n.Op != "Conv" && n.Op != "Gemm" || b.consts[n.Inputs[1]] == nil {
		return false
	}
	if len(n.Inputs) < 3 {
		return true
	}
	bias := b.consts[n.Inputs[2]]
	return bias != nil && size(bias.Shape) == b.shapes[n.Output()][1] && bias.Shape[len(bias.Shape)-1] == size(bias.Shape)
}

// foldBatchNorm multiplies p's weights, which other nodes may share and which
// are therefore copied, and takes the place of bn.
func (b *builder) foldBatchNorm(p, bn *Node) error {
	w := b.consts[p.Inputs[1]]
	scale, shift := b.consts[bn.Inputs[1]], b.consts[bn.Inputs[2]]
	c := scale.Len()
	// Index of the channel of weight i: i/inner mod c.
	inner := 1
	if p.Op == "Conv" || p.Int("transB") == 1 {
		inner = w.Len() / c
	}
	if b.foldBudget -= w.Len(); b.foldBudget < 0 {
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
		if len(p.Inputs) > 2 {
			v += b.consts[p.Inputs[2]].At(i) * scale.At(i)
		}
		nb.F32[i] = float32(v)
	}
	if firstNonFinite(nw.F32) >= 0 || firstNonFinite(nb.F32) >= 0 {
		return NodesError{{Op: bn.Op, Name: bn.Name, Reason: "folding it into " + quote(p.Name) + " overflows"}}
	}
	add := func(base string, t *Tensor) string {
		name := b.unique(base + "/" + bn.Name)
		b.shapes[name], b.dtypes[name], b.consts[name] = t.Shape, Float, t
		return name
	}
	p.Inputs = []string{p.Inputs[0], add(p.Inputs[1], nw), add(bn.Name+"/bias", nb)}
	p.Outputs[0] = bn.Output()
	b.producer[bn.Output()] = p
	return nil
}
