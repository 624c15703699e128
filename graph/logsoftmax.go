package graph

import "slices"

// logSoftmaxOf returns x if a node is x − log Σ exp x along the last axis. As one operator
// it is as precise for a row with a wide range as for a narrow one.
func logSoftmaxOf(n *node) *value {
	if n.op != Sub {
		return nil
	}
	x, sum := n.in[0], n.in[1]
	rank := len(x.shape)
	if rank == 0 {
		return nil
	}
	if of := slices.Concat(x.shape[:rank-1], []int{1}); x.tensor != nil || !slices.Equal(sum.shape, of) {
		return nil // not one number a row
	}
	for sum.node != nil { // a Reshape keeps the order of rows
		if _, ok := sum.node.op.(Reshape); !ok {
			break
		}
		sum = sum.node.in[0]
	}
	add := operation(sum, Add)
	if add == nil {
		return nil
	}
	for i, v := range add.in {
		total, _ := function(v, Log)
		if total == nil {
			continue
		}
		exps, ok := alongRow(total, Sum, rank)
		if !ok {
			continue
		}
		if shifted, _ := function(exps, Exp); shifted != nil {
			below := operation(shifted, Sub)
			if below == nil || below.in[0] != x || !same(below.in[1], add.in[1-i], 2) {
				continue
			}
			if of, ok := alongRow(below.in[1], MaxOf, rank); ok && of == x {
				return x
			}
		}
	}
	return nil
}

// alongRow returns what v is a reduction of, along the last of its axes alone.
func alongRow(v *value, f Reduction, rank int) (*value, bool) {
	if v.node == nil {
		return nil, false
	}
	r, ok := v.node.op.(Reduce)
	if !ok || r.Func != f || !slices.Equal(r.Axes, []int{rank - 1}) || len(v.node.in[0].shape) != rank {
		return nil, false
	}
	return v.node.in[0], true
}
