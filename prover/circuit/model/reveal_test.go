package model

import "testing"

// TestRevealOfNestedSums: the interval of an output that is a sum of sums is found in time that is linear in
// the circuit, however often each names the one before. A walk of all paths would have 64^14 ends.
func TestRevealOfNestedSums(t *testing.T) {
	g := &Graph{Tensors: []Tensor{{Name: "x", Shape: []int{4}, Kind: Input, Min: 0, Max: 0}}, Inputs: []TensorID{0}}
	for range 14 {
		last := TensorID(len(g.Tensors) - 1)
		sum := Tensor{Shape: []int{4}, Kind: Virtual, Min: -1, Max: 1}
		for range 64 {
			sum.Def = append(sum.Def, Linear{Coef: 1, Src: last})
		}
		g.Tensors = append(g.Tensors, sum)
	}
	g.Outputs = []TensorID{TensorID(len(g.Tensors) - 1)}
	c, err := (&Template{Graph: g}).At(Instance{Reveals: []Reveal{{Output: 0}}})
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Reveals[0]; r.Issuer || r.Least != 0 || r.Most != 0 {
		t.Errorf("entries in [%d, %d], proved: %t, want [0, 0], proved", r.Least, r.Most, !r.Issuer)
	}
}
