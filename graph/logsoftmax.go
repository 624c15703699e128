package graph

import "slices"

// logSoftmaxOf returns x if a node is x − log Σ exp x along the last axis, and nil
// otherwise. The operator LogSoftmax is as precise for a row with a wide range as for a
// narrow one.
func logSoftmaxOf(n *node) *value {
	x := n.in[0]
	rank := len(x.shape)
	if n.op != Sub || rank == 0 || x.tensor != nil || !slices.Equal(n.in[1].shape, slices.Concat(x.shape[:rank-1], []int{1})) {
		return nil // it does not subtract one number for each row
	}
	sum := n.in[1]
	for sum.node != nil { // pass Reshapes, which keep the order of the rows
		if _, ok := sum.node.op.(Reshape); !ok {
			break
		}
		sum = sum.node.in[0]
	}
	add := operation(sum, Add)
	if add == nil {
		return nil
	}
	// The sum is log Σ exp(x − max x) + max x, in either order.
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

// alongRow returns u if v is the reduction f of u along the last of u's axes, of which there are
// rank; nil otherwise.
func alongRow(v *value, f Reduction, rank int) *value {
	x, r := reduction(v)
	if x == nil || r.Func != f || !slices.Equal(r.Axes, []int{rank - 1}) || len(x.shape) != rank {
		return nil
	}
	return x
}
