package forward

import (
	"fmt"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// accumulate computes a step's accumulator and checks that its entries are within ±2^30. The
// result is valid until the next call.
func (e *executor) accumulate(s *model.Step) ([]int64, error) {
	acc := e.linear(s)
	for i := range s.Acc.Products {
		p := &s.Acc.Products[i]
		if c := newChosen(e.graph, p); c != nil {
			c.add(acc, s.Shape, func(id model.TensorID) []int { return e.graph.Tensors[id].Shape }, e.operand)
			continue
		}
		einsum(acc, s.Shape, p.Coef, e.factor(p.A, p.LabelsA, e.operand), e.factor(p.B, p.LabelsB, e.operand))
	}
	return acc, checkBound(acc)
}

// accumulator returns memory for n entries, which is valid until the next call.
func (e *executor) accumulator(n int) []int64 {
	if cap(e.acc) < n {
		e.acc = make([]int64, n)
	}
	return e.acc[:n]
}

// linear computes the accumulator without its products. The result is valid until
// the next call.
func (e *executor) linear(s *model.Step) []int64 {
	acc := e.accumulator(model.Size(s.Shape))
	parallel.For(len(acc), grain, func(lo, hi int) {
		for i := range acc[lo:hi] {
			acc[lo+i] = s.Acc.Const
		}
	})
	for i := range s.Acc.Linear {
		l := &s.Acc.Linear[i]
		l.View.Accumulate(acc, l.Coef, e.operand(l.Src), e.graph.Tensors[l.Src].Shape, s.Shape)
	}
	return acc
}

// factor returns a tensor as an operand of a product. A virtual tensor that only
// moves entries, such as the windows of a convolution, is read from its source
// without a copy. values returns a tensor's values.
func (e *executor) factor(id model.TensorID, labels []int, values func(model.TensorID) ints.Ints) operand {
	t := &e.graph.Tensors[id]
	if l := moved(t); t.Kind == model.Virtual && e.cache[id] == nil && l != nil {
		src := values(l.Src)
		if data, axes, ok := l.View.Offsets(src, e.graph.Tensors[l.Src].Shape, t.Shape); ok {
			return operand{data, axes, t.Shape, labels}
		}
	}
	return dense(values(id), t.Shape, labels)
}

// checkBound reports the first entry that is not within ±2^30.
func checkBound(acc []int64) error {
	if len(acc) == 1 && -model.Bound < acc[0] && acc[0] < model.Bound {
		return nil
	}
	first := atomic.Int64{} // the least index that a goroutine has found
	first.Store(int64(len(acc)))
	parallel.For(len(acc), grain, func(lo, hi int) {
		for i, x := range acc[lo:hi] {
			if x <= -model.Bound || x >= model.Bound {
				at := int64(lo + i)
				for {
					old := first.Load()
					if old <= at || first.CompareAndSwap(old, at) {
						return
					}
				}
			}
		}
	})
	if i := first.Load(); i < int64(len(acc)) {
		return fmt.Errorf("entry %d: the accumulator %d is not within ±2^30", i, acc[i])
	}
	return nil
}
