package model

import (
	"errors"
	"fmt"
)

// Limits of what a graph may cost its verifier: a key of a few hundred bytes
// can ask for 2^40 evaluations, by virtual tensors that name each other twice,
// or for a table of 2^34 entries. They are a hundred times and more what real
// models need.
const (
	maxNesting     = 1 << 12 // virtual tensors upon each other
	maxEvaluations = 1 << 19 // of tensors, summand by summand
	maxWeights     = 1 << 25 // entries of all wirings' tables
	maxPairs       = 1 << 30 // wired pairs of indexes that these come from
	maxBlocks      = 1 << 20 // blocks of committed tensors, for each claim on them
	maxVisits      = 1 << 28 // steps and tensors, for each chunk
)

// Uses bounds how often a proof evaluates each tensor: once for every place
// that names it, and a source as often as the virtual tensors above it.
// Bounds stop growing at 2^40.
func (g *Graph) Uses() []uint64 {
	uses := make([]uint64, len(g.Tensors))
	use := func(id TensorID, n uint64) {
		if id != None {
			uses[id] = min(uses[id]+n, 1<<40)
		}
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind != StepZero { // has no results
			use(s.Out, 1)
			use(s.Lo, 1)
		}
		for _, l := range s.Acc.Linear {
			use(l.Src, 1)
		}
		for _, p := range s.Acc.Products {
			use(p.A, 1)
			use(p.B, 1)
		}
	}
	for _, id := range g.Outputs {
		use(id, 1)
	}
	for _, m := range g.Mults {
		use(m.Tensor, 1)
		if t := g.Tables[m.Table]; t.Kind == TableFunc {
			use(t.Values, 1)
		}
	}
	// Definitions look back only.
	for i := len(g.Tensors) - 1; i >= 0; i-- {
		for _, l := range g.Tensors[i].Def {
			use(l.Src, uses[i])
		}
	}
	return uses
}

// cost adds up what verifying costs. Sums that are over a limit may stop
// short.
type cost struct{ evaluations, weights, pairs, blocks uint64 }

// validateCost checks the limits above on a graph that is valid otherwise.
func (g *Graph) validateCost() error {
	if uint64(g.Chunks)*uint64(len(g.Steps)+len(g.Tensors)) > maxVisits {
		return fmt.Errorf("%d chunks are too many for %d steps and %d tensors", g.Chunks, len(g.Steps), len(g.Tensors))
	}
	if err := g.validateNesting(); err != nil {
		return err
	}
	var c cost
	for i := range g.Steps {
		s := &g.Steps[i]
		c.linear(g, s.Acc.Linear, s.Shape, 1)
	}
	for i, n := range g.Uses() {
		t := &g.Tensors[i]
		c.evaluations += n
		c.linear(g, t.Def, t.Shape, n)
		if t.Kind == Fixed || t.Kind == Witness {
			c.blocks += max(n, 1) * blocks(t.Shape)
		}
		switch {
		case c.evaluations > maxEvaluations:
			return errors.New("virtual tensors refer to each other too often")
		case c.weights > maxWeights || c.pairs > maxPairs:
			return errors.New("views are too large in all")
		case c.blocks > maxBlocks:
			return errors.New("committed tensors fall into too many blocks")
		}
	}
	return nil
}

// validateNesting bounds how deep definitions lie upon each other, since
// evaluation recurs.
func (g *Graph) validateNesting() error {
	depth := make([]int, len(g.Tensors))
	for i := range g.Tensors {
		for _, l := range g.Tensors[i].Def {
			depth[i] = max(depth[i], depth[l.Src]+1)
		}
		if depth[i] > maxNesting {
			return fmt.Errorf("tensor %d: more than %d virtual tensors upon each other", i, maxNesting)
		}
	}
	return nil
}

// linear adds n evaluations of a sum of views. No factor is above 2^40 and no
// view above 2^27, so products fit.
func (c *cost) linear(g *Graph, terms []Linear, out []int, n uint64) {
	c.evaluations += n * uint64(len(terms))
	for i := range terms {
		if terms[i].View == nil {
			continue
		}
		in := g.Tensors[terms[i].Src].Shape
		for j := range terms[i].View.Groups {
			grp := &terms[i].View.Groups[j]
			if grp.Trivial(out, in) {
				continue
			}
			pairs := sizeOf(out, grp.Out)
			for _, s := range grp.Sum {
				pairs *= s.Dim
			}
			c.weights += n * uint64(sizeOf(in, grp.In))
			c.pairs += n * uint64(pairs)
			if c.weights > maxWeights || c.pairs > maxPairs {
				return
			}
		}
	}
}

// blocks returns into how many power-of-two blocks a committed tensor is cut.
func blocks(shape []int) uint64 {
	n := uint64(1)
	for _, d := range shape {
		n *= uint64(len(axisParts(d)))
	}
	return n
}
