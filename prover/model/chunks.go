package model

import "sort"

// Finish assigns steps and their witness tensors to chunks of at most about
// maxEntries witness entries each (one chunk if maxEntries ≤ 0) and adds the
// multiplicity tensors. It is called once, when the graph is complete.
func (g *Graph) Finish(maxEntries int) {
	chunk, entries := 0, 0
	for i := range g.Steps {
		s := &g.Steps[i]
		size := 0
		for _, id := range []TensorID{s.Lo, s.Out} {
			if s.Kind != StepZero && id != None {
				size += Size(s.Shape)
			}
		}
		if maxEntries > 0 && entries > 0 && entries+size > maxEntries {
			chunk, entries = chunk+1, 0
		}
		entries += size
		s.Chunk = chunk
		if s.Kind == StepZero {
			continue
		}
		for _, id := range []TensorID{s.Lo, s.Out} {
			if id != None {
				g.Tensors[id].Chunk = chunk
			}
		}
	}
	g.Chunks = chunk + 1
	type key struct {
		chunk int
		table TableID
	}
	seen := map[key]bool{}
	var keys []key
	for i := range g.Steps {
		k := key{g.Steps[i].Chunk, g.Steps[i].Table}
		if g.Steps[i].Kind == StepLookup && !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		return a.chunk < b.chunk || a.chunk == b.chunk && a.table < b.table
	})
	for _, k := range keys {
		t := &g.Tables[k.table]
		g.Mults = append(g.Mults, Mult{k.chunk, k.table, TensorID(len(g.Tensors))})
		g.Tensors = append(g.Tensors, Tensor{
			Name: "count " + t.Name, Shape: []int{1 << t.Bits}, Kind: Witness,
			Max: Bound - 1, Chunk: k.chunk,
		})
	}
}

// FixedIDs returns the fixed tensors in order.
func (g *Graph) FixedIDs() []TensorID {
	var ids []TensorID
	for i := range g.Tensors {
		if g.Tensors[i].Kind == Fixed {
			ids = append(ids, TensorID(i))
		}
	}
	return ids
}

// WitnessIDs returns the witness tensors of a chunk in order.
func (g *Graph) WitnessIDs(chunk int) []TensorID {
	var ids []TensorID
	for i := range g.Tensors {
		if g.Tensors[i].Kind == Witness && g.Tensors[i].Chunk == chunk {
			ids = append(ids, TensorID(i))
		}
	}
	return ids
}
