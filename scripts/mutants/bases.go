package main

import (
	"math/rand/v2"

	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/internal/schema"
)

// bases are keys of a circuit that adds an input and three fixed tensors. They differ in the tensors of the base, and in the trees, which
// fit the base or not.
func bases() (list []*line) {
	b := &builder{}
	x := b.input(-9, 9, 2)
	terms := []*schema.Linear{term(1, x)}
	for range 3 {
		id := b.tensor(&schema.Tensor{Kind: schema.Fixed, Shape: []uint64{2}, Min: -5, Max: 5})
		terms = append(terms, term(1, id))
	}
	b.g.Outputs = []uint32{b.virtual([]uint64{2}, terms...)}
	tree := func(rowVars, tailLog uint32) *schema.Tree {
		return &schema.Tree{Root: make([]byte, 32), RowVars: rowVars, TailLog: tailLog}
	}
	one, few := tree(1, 0), func(n int) (list []*schema.Tree) {
		for range n {
			list = append(list, tree(1, 0))
		}
		return list
	}
	for _, c := range []struct {
		name  string
		base  []uint32
		trees []*schema.Tree
		want  bool
	}{
		{"no base", nil, few(1), true},
		{"a base", []uint32{1}, few(2), true},
		{"a base in another order", []uint32{3, 1}, few(2), true},
		{"no base, two trees", nil, few(2), false},
		{"a base, one tree", []uint32{1}, few(1), false},
		{"a base, no tree", []uint32{1}, nil, false},
		{"a base, three trees", []uint32{1}, few(3), false},
		{"a tensor of the base twice", []uint32{1, 1}, few(2), false},
		{"a base of an input", []uint32{0}, few(2), false},
		{"a base of the output", []uint32{1, 4}, few(2), false},
		{"a base of a tensor that is not there", []uint32{5}, few(2), false},
		{"a base of all", []uint32{1, 2, 3}, few(2), false},
		{"a base of all, one tree", []uint32{1, 2, 3}, few(1), false},
		{"an adapter under rows of one value", []uint32{1}, []*schema.Tree{one, tree(0, 0)}, false},
		{"an adapter under the longest rows but one", []uint32{1}, []*schema.Tree{one, tree(30, 0)}, false},
		{"an adapter under rows of more than there are", []uint32{1}, []*schema.Tree{one, tree(1<<32-1, 0)}, false},
		{"a base under rows of one value", []uint32{1}, []*schema.Tree{tree(0, 0), one}, false},
		{"an adapter with tails", []uint32{1}, []*schema.Tree{one, tree(12, 2)}, false},
		{"a base with tails", []uint32{1}, []*schema.Tree{tree(12, 2), one}, false},
		{"both with tails", []uint32{1}, []*schema.Tree{tree(12, 2), tree(12, 2)}, false},
	} {
		g := b.g
		g.Base = c.base
		key := &schema.Key{Graph: &g, Security: &schema.Security{TargetBits: 20, GrindBits: 8}, Trees: c.trees}
		list = append(list, lineOf(c.name, key, c.want, &golden.Case{}, rand.New(rand.NewPCG(1, 2))))
	}
	return list
}
