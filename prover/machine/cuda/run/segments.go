package run

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// Values of a run that are not kept. A segment is some consecutive chunks. A value that one segment
// computes and that no other reads is dropped when the run leaves the segment. When the commitment,
// a chunk or the opening wants such a value, all values of the segment are recomputed at once.

// segments is the division of a circuit's chunks into segments. It depends on the circuit alone.
type segments struct {
	Of    []int // by chunk: its segment; increasing
	inner []int // by tensor: the segment that alone reads and writes it, −1 if it is kept
	N     int   // number of segments
	kept  int   // the first so many segments keep their values all the same
}

// leastSegments is about the least number of segments. The values of one of them are on a device at a
// time.
const leastSegments = 48

// NewSegments divides the chunks of a circuit into segments. A segment ends where few bytes of values are read by later chunks.
// The first `keeping` segments keep their values.
func NewSegments(g *model.Graph, keeping int) *segments {
	first, last := users(g)
	kept := make([]bool, len(g.Tensors))
	for _, m := range g.Mults { // counts: recomputing does not count again
		kept[m.Tensor] = true
	}
	for _, id := range g.Outputs {
		kept[id] = true
	}
	for i := range g.Apart { // keys and values (of attention) of all layers: one commitment reads them
		for _, id := range g.Apart[i].Tensors {
			kept[id] = true
		}
	}
	s := &segments{Of: make([]int, g.Chunks), inner: make([]int, len(g.Tensors))}
	w := writtenBy(g, kept, last)
	for from := 0; from < g.Chunks; s.N++ {
		to := w.end(from)
		for c := from; c < to; c++ {
			s.Of[c] = s.N
		}
		from = to
	}
	s.kept = min(keeping, s.N)
	for i := range g.Tensors {
		s.inner[i] = -1
		if k := g.Tensors[i].Kind; k != model.Witness && k != model.Virtual || kept[i] || last[i] < 0 {
			continue
		}
		if k := s.Of[first[i]]; k == s.Of[last[i]] && k >= s.kept {
			s.inner[i] = k
		}
	}
	return s
}

// written counts the bytes that chunks write, without tensors that are always kept.
type written struct {
	chunks []int64 // by chunk: bytes that it writes
	across []int64 // by chunk: bytes that are written before it and read by it or later ones
	most   int64   // the most bytes of a segment: twice what any chunk writes, or a 48th of all if that is more
}

// writtenBy returns the counts of a circuit. last has for each tensor the last chunk that reads it.
func writtenBy(g *model.Graph, kept []bool, last []int) *written {
	w := &written{chunks: make([]int64, g.Chunks), across: make([]int64, g.Chunks+1)}
	var total int64
	for i := range g.Tensors {
		t := &g.Tensors[i]
		if t.Kind != model.Witness || kept[i] {
			continue
		}
		n := TensorNeed(t)
		w.chunks[t.Chunk] += n
		total += n
		if last[i] > t.Chunk {
			w.across[t.Chunk+1] += n
			w.across[last[i]+1] -= n
		}
	}
	for c := range g.Chunks {
		w.across[c+1] += w.across[c]
		w.most = max(w.most, 2*w.chunks[c])
	}
	w.most = max(w.most, total/leastSegments)
	return w
}

// end returns the chunk after the last of a segment that begins with chunk `from`. Among the ends at which the segment is at least half
// full, and not too full, it takes the one across which the fewest bytes are read, the last of equal ones.
func (w *written) end(from int) int {
	to, size, best := from, int64(0), -1
	for to < len(w.chunks) && (to == from || size+w.chunks[to] <= w.most) {
		size += w.chunks[to]
		to++
		if 2*size >= w.most && (best < 0 || w.across[to] <= w.across[best]) {
			best = to
		}
	}
	if best >= 0 && to < len(w.chunks) {
		return best
	}
	return to
}

// users returns for each tensor the first and the last chunk with a step that writes it or reads it,
// directly or through a virtual tensor; −1 if there is none. Outputs count as read in the last chunk.
func users(g *model.Graph) (first, last []int) {
	none := []int{-1}
	first, last = slices.Repeat(none, len(g.Tensors)), slices.Repeat(none, len(g.Tensors))
	var use func(id model.TensorID, chunk int)
	use = func(id model.TensorID, chunk int) {
		if last[id] == chunk { // its sources have been visited for this chunk too
			return
		}
		if first[id] < 0 {
			first[id] = chunk
		}
		last[id] = chunk
		for of := range g.Tensors[id].Sources {
			use(of, chunk)
		}
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		for id := range s.Sources {
			use(id, s.Chunk)
		}
		for _, id := range s.Results() {
			use(id, s.Chunk)
		}
	}
	for _, id := range g.Outputs {
		use(id, g.Chunks-1)
	}
	return first, last
}

// InOrder says whether a circuit's steps are in the order of their chunks, which recompute segments
// require.
func InOrder(g *model.Graph) bool {
	return slices.IsSortedFunc(g.Steps, func(a, b model.Step) int { return a.Chunk - b.Chunk })
}

// TensorNeed returns the bytes of a tensor in the narrowest type that holds its range.
func TensorNeed(t *model.Tensor) int64 {
	return int64(model.Size(t.Shape)) * int64(device.WidthOfRange(t.Min, t.Max))
}

// Least is a lower bound of the bytes that the values of a run take, in any mode.
type Least struct {
	outside  int64   // bytes of tensors that more than one segment reads or writes
	inner    []int64 // by segment: bytes of the other tensors
	keys     int64   // bytes of the keys of look-ups, if they are kept
	uploaded int64   // bytes of all values: what is uploaded if no device runs the circuit
	inOrder  bool    // see InOrder
}

// NewLeast returns the lower bounds for a circuit.
func NewLeast(g *model.Graph) *Least {
	s := NewSegments(g, 0)
	l := &Least{inner: make([]int64, s.N), inOrder: InOrder(g)}
	for i := range g.Tensors {
		if t := &g.Tensors[i]; t.Kind != model.Fixed {
			l.uploaded += TensorNeed(t)
		}
	}
	for i := range g.Steps {
		x := &g.Steps[i]
		for _, id := range x.Results() {
			if k := s.inner[id]; k < 0 {
				l.outside += TensorNeed(&g.Tensors[id])
			} else {
				l.inner[k] += TensorNeed(&g.Tensors[id])
			}
		}
		if _, _, is := keyTensor(g, i); x.Kind == model.StepLookup && !is {
			l.keys += int64(model.Size(x.Shape) * widthOfKeys(&g.Tables[x.Table]))
		}
	}
	return l
}

// Segments is how many segments the circuit has.
func (l *Least) Segments() int { return len(l.inner) }

// Bytes returns the bound in a mode. It includes the segments whose recomputed values are there at a time.
func (l *Least) Bytes(how device.Mode) int64 {
	all, kept, most := l.outside, l.outside, int64(0)
	for i, n := range l.inner {
		all += n
		if i < how.Kept {
			kept += n
		} else {
			most = max(most, n)
		}
	}
	switch {
	case how.Values && l.inOrder:
		all = kept + int64(how.Together())*most
	case !how.Forward().Keys:
		all += l.keys
	}
	return min(all, l.uploaded)
}
