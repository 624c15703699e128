package model

import (
	"slices"
	"testing"
)

// manyTables is a template whose steps use one table after the other, n steps of as many
// entries as the free dimension says times 2^10.
func manyTables(n, tables, bits int) *Template {
	g := &Graph{}
	for range tables {
		g.Tables = append(g.Tables, Table{Bits: bits})
	}
	for i := range n {
		g.Steps = append(g.Steps, Step{Shape: []int{1, 1 << 10}, Scales: []Scale{1, 0}, Lo: None, Out: TensorID(i), Table: TableID(i % tables)})
	}
	return &Template{Graph: g, Free: []FreeDim{{Name: "n", Bound: 1 << 20}}}
}

// Chunks are chosen larger than the canonical ones where that saves much, as their
// multiplicities say, and so that their trees are full; never beyond what memory bounds. Where the
// canonical ones are larger than that they are chosen smaller if that fills their trees.
func TestChoose(t *testing.T) {
	// committed is what a proof with these chunks commits to, and the leaves of its trees.
	committed := func(tm *Template, in Instance) (entries int, leaves []int) {
		g := tm.graph(nil, in.Sizes)
		g.Tensors = make([]Tensor, len(g.Steps))
		if err := g.Finish(in.ChunkEntries); err != nil {
			t.Fatal(err)
		}
		leaves = make([]int, g.Chunks)
		for i := range g.Steps {
			n := Size(g.Steps[i].Shape)
			entries, leaves[g.Steps[i].Chunk] = entries+n, leaves[g.Steps[i].Chunk]+n
		}
		for _, m := range g.Mults {
			n := 1 << g.Tables[m.Table].Bits
			entries, leaves[m.Chunk] = entries+n, leaves[m.Chunk]+n
		}
		return entries, leaves
	}
	for name, c := range map[string]struct {
		template *Template
		size     int
		same     bool
	}{
		"one chunk":      {template: manyTables(100, 40, 16), size: 40, same: true},
		"few tables":     {template: manyTables(1000, 2, 8), size: 32},
		"many tables":    {template: manyTables(1000, 40, 16), size: 32},
		"large, few":     {template: manyTables(1000, 2, 8), size: 1 << 12},
		"large, full":    {template: manyTables(64, 2, 8), size: 65_000, same: true},
		"no free choice": {template: manyTables(1000, 40, 19), size: 16, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			canonical := Instance{Sizes: []int{c.size}}
			chosen := c.template.Choose(canonical)
			if !slices.Equal(chosen.Sizes, canonical.Sizes) {
				t.Fatalf("sizes %v", chosen.Sizes)
			}
			if again := c.template.Choose(canonical); again.ChunkEntries != chosen.ChunkEntries {
				t.Error("another choice for the same circuit")
			}
			before, small := committed(c.template, canonical)
			after, large := committed(c.template, chosen)
			if (chosen.ChunkEntries == 0) != c.same {
				t.Fatalf("chunks of %d entries: %d entries in %v leaves, and in those of the canonical size %d in %v", chosen.ChunkEntries, after, large, before, small)
			}
			if c.same {
				return
			}
			if slices.Max(large) > max(mostLeaves, slices.Max(small)) {
				t.Errorf("%v leaves", large)
			}
			cost := func(entries int, leaves []int) int {
				n := entryCost * entries
				for _, l := range leaves {
					n += leafCost << Log2Ceil(l)
				}
				return n
			}
			if cost(after, large) >= cost(before, small) || after > before && slices.Max(small) <= mostLeaves {
				t.Errorf("%d entries in %v leaves, after %d in %v", after, large, before, small)
			}
		})
	}
}

// A segment's chunks are made smaller as long as that makes the largest tree so, and no smaller than one step's look-ups allow.
func TestSmallerChunks(t *testing.T) {
	of := func(sizes ...int) *Graph {
		g := &Graph{Tables: []Table{{Kind: TableRange, Bits: 16, Values: None}}}
		for i, n := range sizes {
			g.Steps = append(g.Steps, Step{Kind: StepLookup, Shape: []int{n}, Out: TensorID(i), Lo: None})
		}
		return g
	}
	alike := slices.Repeat([]int{1 << 22}, 200)
	for name, x := range map[string]struct {
		g                 *Graph
		canonical, chosen int
	}{
		"many alike":        {of(alike...), 1 << 24, 1 << 23},
		"a large one":       {of(append(alike, 1<<26)...), 1 << 24, 0},
		"larger ones":       {of(slices.Repeat([]int{1 << 24}, 200)...), 1 << 26, 1 << 24},
		"too many chunks":   {of(slices.Repeat([]int{1 << 22}, 2000)...), 1 << 27, 1 << 25},
		"small as they are": {of(1<<20, 1<<20), minChunk, 0},
	} {
		size := x.g.canonical()
		_, leaves := x.g.costOf(size)
		if got := x.g.smaller(size, leaves); size != x.canonical || got != x.chosen {
			t.Errorf("%s: chunks of 2^%d in place of 2^%d entries (%d leaves), not of 2^%d", name, Log2Ceil(got), Log2Ceil(size), leaves, Log2Ceil(x.chosen))
		}
	}
}
