package model

import "math/bits"

const (
	// mostLeaves is the most look-ups and table rows that Choose lets a chunk have, unless chunks of the canonical size have more. The
	// chunk's tree takes 52 bytes of memory for each.
	mostLeaves = 1 << 24
	// segmentChunks is the most chunks that smaller divides a segment of a text into.
	segmentChunks = 4 * fewChunks
	// The unit of costs is about 20 ns of a processor: entryCost is that of an entry that is committed to and opened, about 60 ns,
	// and leafCost that of a leaf of a chunk's tree, about 40 ns. The number of leaves is rounded up to a power of two.
	entryCost, leafCost = 3, 2
	// chunkCost is the cost of a chunk's part of the proof: some 30 KB, a byte of which counts as
	// 4 µs, as in the choice of rows.
	chunkCost = 6_000_000
	// Sizes above the canonical one are tried in steps of an eighth (2^−triesShift) of the power of two below them; sizes
	// below it in steps of a sixteenth (2^−belowShift) of the canonical size. Another size than the canonical one must save a 32nd
	// (2^−savesShift) of the cost.
	triesShift, belowShift, savesShift = 3, 4, 5
)

// Choose returns the instance in with the chunk size to use for a proof (docs/protocol.md, "Chunks"). The choice depends on the circuit
// alone. in must be an instance of the template.
//
// If the trees of chunks of the canonical size have up to 2^24 leaves, Choose tries larger sizes. It takes the smallest size, the canonical
// one first, that costs less than a 31st more than the cheapest. Small chunks take less memory, and several are proved at
// once. But every chunk has multiplicities for all tables that it uses, so in a circuit with many tables small chunks would
// consist mostly of these.
//
// If the trees are larger, Choose tries sizes down to half of the canonical one, and takes the largest that costs less than a 31st more
// than the cheapest: smaller chunks may fill their trees better, but each adds to the proof. For a segment of a text behind others it
// takes a size with small trees instead (smaller).
func (t *Template) Choose(in Instance) Instance {
	g := t.Graph
	if in.Segment != nil { // the sizes alone do not give the shapes: some axes are of all tokens, and others of the segment's
		of, err := t.At(in)
		if err != nil {
			return in // the caller gets the error when it makes the circuit
		}
		g = of
	}
	f := factors(in.Sizes)
	d := &Graph{Tables: g.Tables, Steps: make([]Step, len(g.Steps))} // what deal and costOf need of the circuit at these sizes
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
	for _, t := range tries { // cost·(1 − 1/32) < least means that it costs less than a 31st more than the cheapest
		if t.cost-t.cost>>savesShift < least {
			if t.size != first {
				in.ChunkEntries = t.size
			}
			break
		}
	}
	return in
}

// smaller returns a chunk size below size, or 0 for the canonical one. It halves the size while the largest chunk's tree has more than
// mostLeaves leaves, up to segmentChunks chunks, and returns the largest of these sizes with which that tree is as small as with any
// of them. leaves is the number of leaves of the largest chunk's tree at size. A segment of a text has few tokens that attend to
// many, so single steps have most of the look-ups and bound the tree from below. Memory counts more than the size of the proof here, as
// segments are for saving memory.
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
// the same for all sizes, and the greatest number of look-ups and table rows of a chunk.
func (g *Graph) costOf(size int) (cost, largest int) {
	leaves, last := 0, -1
	seen := make([]int, len(g.Tables)) // by table: 1 + the last chunk that uses it
	end := func() {                    // adds the cost of the tree of the chunk that ends
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
