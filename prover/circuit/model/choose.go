package model

import "math/bits"

const (
	// mostLeaves is the most look-ups and table rows of a chunk whose size is chosen. The
	// chunk's tree takes 52 bytes of memory for each.
	mostLeaves = 1 << 24
	// segmentChunks is the most chunks that a segment is divided into so that its largest tree is
	// smaller.
	segmentChunks = 4 * fewChunks
	// Costs of an entry that is committed to and opened, and of a leaf of a chunk's tree,
	// whose number is rounded up to a power of two: about 60 and 40 ns of a processor.
	entryCost, leafCost = 3, 2
	// chunkCost is that of a chunk's part of the proof: some 30 KB, a byte of which counts as
	// 4 µs, as in the choice of rows.
	chunkCost = 6_000_000
	// Sizes are tried in steps of an eighth of a doubling, or of a sixteenth of the canonical
	// size below it. Another size than that must save a thirty-second of the cost.
	triesShift, belowShift, savesShift = 3, 4, 5
)

// Choose returns the instance with the chunk size to use for a proof. If the trees of chunks of
// the canonical size have up to 2^24 leaves, it is the smallest size with which a proof costs
// hardly more than with any other, or the canonical size if that is as cheap. Small chunks take
// less memory, and several are proved at once. But every chunk has multiplicities for all tables
// that it uses, so in a circuit with many tables small chunks consist mostly of these. If trees
// are larger, it is the largest size down to half of the canonical one: smaller chunks may fill
// their trees better, but each adds to the proof. For a segment behind others it is a size
// with small trees then. The choice depends on the circuit alone. The sizes in must be those of an
// instance of the template.
func (t *Template) Choose(in Instance) Instance {
	g := t.Graph
	if in.Segment != nil { // some axes are of all tokens, and others of the segment's
		of, err := t.At(in)
		if err != nil {
			return in // whoever makes the circuit is told
		}
		g = of
	}
	f := factors(in.Sizes)
	d := &Graph{Tables: g.Tables, Steps: make([]Step, len(g.Steps))}
	for i := range g.Steps {
		s := &g.Steps[i]
		shape := f.shape(s.Shape, s.Scales)
		if in.Texts > 0 {
			shape = append([]int{in.Texts}, shape...)
		}
		d.Steps[i] = Step{Kind: s.Kind, Shape: shape, Lo: s.Lo, Out: s.Out, Table: s.Table}
	}
	first := d.canonical()
	least, leaves := d.costOf(first)
	large := leaves > mostLeaves
	if large && in.Segment != nil && len(in.Segment.Past) > 0 {
		in.ChunkEntries = d.smaller(first, leaves)
		return in
	}
	type try struct{ size, cost int }
	tries := []try{{first, least}}
	for size := first; size < maxChunk || large; {
		if large {
			size -= first >> belowShift
		} else {
			size += 1 << (bits.Len(uint(size)) - 1 - triesShift)
		}
		cost, leaves := d.costOf(size)
		if !large && leaves > mostLeaves || large && size <= first/2 {
			break
		}
		if large {
			cost += chunkCost * (d.deal(size, nil) - d.deal(first, nil))
		}
		tries, least = append(tries, try{size, cost}), min(least, cost)
	}
	for _, t := range tries {
		if t.cost-t.cost>>savesShift < least {
			if t.size != first {
				in.ChunkEntries = t.size
			}
			break
		}
	}
	return in
}

// smaller returns the greatest size of a chunk, or 0 for the canonical one, with which the tree of
// the largest chunk is as small as any smaller size makes it. A segment attends to many tokens and
// has few, so that what one step looks up bounds it, and memory is what segments are for.
func (g *Graph) smaller(size, leaves int) int {
	best := 0
	for size > minChunk && leaves > mostLeaves {
		size /= 2
		_, n := g.costOf(size)
		if g.deal(size, nil) > segmentChunks {
			break
		}
		if Log2Ceil(n) < Log2Ceil(leaves) {
			best, leaves = size, n
		}
	}
	return best
}

// costOf returns the cost of a proof with chunks of the given size, without the part that is
// the same for all sizes, and the number of look-ups and table rows of the largest chunk.
func (g *Graph) costOf(size int) (cost, largest int) {
	leaves, last := 0, -1
	seen := make([]int, len(g.Tables)) // the chunk that a table was last used in, plus 1
	end := func() {
		if leaves > 0 {
			cost += leafCost << Log2Ceil(leaves)
		}
		largest, leaves = max(largest, leaves), 0
	}
	g.deal(size, func(s *Step, chunk int) {
		if chunk != last {
			end()
			last = chunk
		}
		if s.Kind != StepLookup {
			return
		}
		leaves += boundedSize(s.Shape)
		if seen[s.Table] != chunk+1 {
			seen[s.Table] = chunk + 1
			rows := 1 << g.Tables[s.Table].Bits
			leaves += rows
			cost += entryCost * rows
		}
	})
	end()
	return cost, largest
}
