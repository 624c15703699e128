package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// The canonical size of a chunk, in witness entries, is minChunk, doubled until the circuit has at most
// fewChunks chunks, but at most maxChunk. Small chunks need less memory, and more of them are proved
// at once; but every chunk adds a sub-transcript to the proof.
const (
	minChunk  = 1 << 22
	maxChunk  = 1 << 27
	fewChunks = 64
	// maxChunks bounds the chunks of any layout.
	maxChunks = 1 << 10
)

// Finish lays the circuit out: it assigns steps, in order, and their witness tensors to chunks, and adds the multiplicity tensors. A new
// chunk begins when the results of the next step would give the current one more than chunkEntries witness entries, multiplicities not
// counted; 0 stands for the canonical number. A step is never divided, so a chunk may be larger than that. Finish is called once, when
// the rest of the circuit is complete: by Template.At, or by code that builds a circuit without a template. The circuit need not be valid
// yet.
func (g *Graph) Finish(chunkEntries int) error {
	if chunkEntries < 0 || chunkEntries > maxChunk {
		return fmt.Errorf("chunks of %d entries", chunkEntries)
	}
	g.Instance.ChunkEntries = chunkEntries
	size := chunkEntries
	if size == 0 {
		size = g.canonical()
	}
	if n := g.deal(size, nil); n > maxChunks {
		return fmt.Errorf("%d chunks of %d entries are over %d", n, size, maxChunks)
	}
	g.Chunks = g.deal(size, func(s *Step, chunk int) {
		s.Chunk = chunk
		for _, id := range s.Results() {
			if g.has(id) {
				g.Tensors[id].Chunk = chunk
			}
		}
	})
	g.count()
	return nil
}

// canonical returns the canonical size of a chunk of this circuit.
func (g *Graph) canonical() int {
	size := minChunk
	for size < maxChunk && g.deal(size, nil) > fewChunks {
		size *= 2
	}
	return size
}

// Results returns the tensors that a step computes: its output and its remainder, if it has them.
func (s *Step) Results() []TensorID {
	if s.Kind == StepZero {
		return nil
	}
	list := make([]TensorID, 0, 2)
	for _, id := range []TensorID{s.Out, s.Lo} {
		if id != None {
			list = append(list, id)
		}
	}
	return list
}

// deal assigns the steps to chunks of at most size witness entries each, and
// returns the number of chunks. If put is not nil, it is called for every step.
func (g *Graph) deal(size int, put func(s *Step, chunk int)) int {
	chunk, entries := 0, 0
	for i := range g.Steps {
		s := &g.Steps[i]
		n := len(s.Results()) * boundedSize(s.Shape)
		if entries > 0 && n > size-entries {
			chunk, entries = chunk+1, 0
		}
		entries += n
		if put != nil {
			put(s, chunk)
		}
	}
	return chunk + 1
}

// boundedSize returns the number of entries of a shape, or maxChunk + 1 if there are more than maxChunk. The shape need not
// be valid, and the product does not overflow.
func boundedSize(shape []int) int {
	n := 1
	for _, d := range shape {
		if n *= min(max(d, 0), maxChunk+1); n > maxChunk {
			return maxChunk + 1
		}
	}
	return n
}

// count adds the multiplicity tensors: one for each table that the look-ups of
// a chunk use, by chunk, then table.
func (g *Graph) count() {
	seen := make([]int, len(g.Tables)) // by table: 1 + the last chunk that uses it, as steps are in the order of chunks
	for i := range g.Steps {
		m := Mult{Chunk: g.Steps[i].Chunk, Table: g.Steps[i].Table}
		if g.Steps[i].Kind == StepLookup && g.hasTable(m.Table) && seen[m.Table] != 1+m.Chunk {
			seen[m.Table] = 1 + m.Chunk
			g.Mults = append(g.Mults, m)
		}
	}
	g.Tensors = slices.Grow(g.Tensors, len(g.Mults))
	slices.SortFunc(g.Mults, func(a, b Mult) int { return cmp.Or(cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Table, b.Table)) })
	for i := range g.Mults {
		m := &g.Mults[i]
		m.Tensor = TensorID(len(g.Tensors))
		t := &g.Tables[m.Table]
		rows := 1 << min(max(t.Bits, 0), MaxTableBits) // Validate refuses a table with other Bits later
		g.Tensors = append(g.Tensors, Tensor{
			Name: PrintableName("count " + t.Name), Shape: []int{rows}, Kind: Witness, Max: Bound - 1, Chunk: m.Chunk,
		})
	}
}

func (g *Graph) hasTable(id TableID) bool { return id >= 0 && int(id) < len(g.Tables) }

// FixedIDs returns the fixed tensors in order.
func (g *Graph) FixedIDs() (ids []TensorID) {
	for i := range g.Tensors {
		if g.Tensors[i].Kind == Fixed {
			ids = append(ids, TensorID(i))
		}
	}
	return ids
}

// FixedStacks returns, for each tree of fixed tensors, its tensors in the order of its stack: those of the base, if there is one, and
// then the others, if there are any.
func (g *Graph) FixedStacks() [][]TensorID {
	rest := g.FixedIDs()
	if len(g.Base) > 0 {
		base := make(map[TensorID]bool, len(g.Base))
		for _, id := range g.Base {
			base[id] = true
		}
		return [][]TensorID{g.Base, slices.DeleteFunc(rest, func(id TensorID) bool { return base[id] })}
	}
	if len(rest) == 0 {
		return nil
	}
	return [][]TensorID{rest}
}

// validateBase checks that the tensors of a base are fixed ones, each once, and not all fixed tensors. So every fixed tensor is in
// exactly one stack, under one root.
func (g *Graph) validateBase() error {
	if len(g.Base) == 0 {
		return nil
	}
	listed := make(map[TensorID]bool, len(g.Base))
	for _, id := range g.Base {
		if !g.has(id) || g.Tensors[id].Kind != Fixed || listed[id] {
			return fmt.Errorf("tensor %d of the base is no fixed tensor, or comes twice", id)
		}
		listed[id] = true
	}
	if len(listed) == len(g.FixedIDs()) {
		return errors.New("all fixed tensors are those of the base: there is no adapter to it")
	}
	return nil
}
