package forward

import (
	"fmt"
	"sync/atomic"

	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
)

// accumulate computes a step's accumulator and checks it against the bound.
func (e *executor) accumulate(s *model.Step) ([]int64, error) {
	acc := e.linear(s)
	for i := range s.Acc.Products {
		p := &s.Acc.Products[i]
		a := operand{e.operand(p.A), e.graph.Tensors[p.A].Shape, p.LabelsA}
		b := operand{e.operand(p.B), e.graph.Tensors[p.B].Shape, p.LabelsB}
		einsum(acc, s.Shape, p.Coef, a, b)
	}
	return acc, checkBound(acc)
}

// linear computes the accumulator without its products.
func (e *executor) linear(s *model.Step) []int64 {
	acc := make([]int64, model.Size(s.Shape))
	if s.Acc.Const != 0 {
		for i := range acc {
			acc[i] = s.Acc.Const
		}
	}
	for i := range s.Acc.Linear {
		l := &s.Acc.Linear[i]
		l.View.Accumulate(acc, l.Coef, e.operand(l.Src), e.graph.Tensors[l.Src].Shape, s.Shape)
	}
	return acc
}

// checkBound reports the first entry that is not within ±2^30.
func checkBound(acc []int64) error {
	first := atomic.Int64{}
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
