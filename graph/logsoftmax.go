package graph

import "slices"

// logSoftmaxOf returns x if a node is x − log Σ exp x along the last axis. As one operator
// it is as precise for a row with a wide range as for a narrow one.
func logSoftmaxOf(n *node) *value {
	x := n.in[0]
	rank := len(x.shape)
	if n.op != Sub || rank == 0 || x.tensor != nil || !slices.Equal(n.in[1].shape, slices.Concat(x.shape[:rank-1], []int{1})) {
		return nil // not one number a row
	}
	sum := n.in[1]
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
		shifted, _ := function(alongRow(total, Sum, rank), Exp)
		below := operation(shifted, Sub)
		if below != nil && below.in[0] == x && same(below.in[1], add.in[1-i], 2) && alongRow(below.in[1], MaxOf, rank) == x {
			return x
		}
	}
	return nil
}

// alongRow returns what v is a reduction of, along the last of its axes alone; nil if it is none.
func alongRow(v *value, f Reduction, rank int) *value {
	x, r := reduction(v)
	if x == nil || r.Func != f || !slices.Equal(r.Axes, []int{rank - 1}) || len(x.shape) != rank {
		return nil
	}
	return x
}
