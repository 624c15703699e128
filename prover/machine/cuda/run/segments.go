package run

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// Values of a run that are not kept. Chunks that follow each other are a segment. What steps of
// one segment compute and only it reads is dropped when the run has left the segment, and made
// again, all of a segment at once, when the commitment, a chunk or the opening wants some of it.

// Segments are those of a circuit's chunks, by the circuit alone.
type segments struct {
	Of    []int // by chunk, increasing
	inner []int // by tensor: the segment that alone reads and writes it, −1 where it is kept
	N     int
	kept  int // the first so many, whose values are kept all the same
}

// leastSegments is how many there are about, at least: the values of one are on a device at a
// time.
const leastSegments = 48

// NewSegments divides the chunks of a circuit: where little is read beyond. The first so many segments keep their values.
func NewSegments(g *model.Graph, keeping int) *segments {
	first, last := users(g)
	kept := make([]bool, len(g.Tensors))
	for _, m := range g.Mults { // counted once
		kept[m.Tensor] = true
	}
	for _, id := range g.Outputs {
		kept[id] = true
	}
	for i := range g.Apart { // keys and values of all layers: one commitment reads them
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

// written are the bytes that chunks write, but for what is kept.
type written struct {
	chunks []int64
	across []int64 // what is written before a chunk and read from it on
	most   int64   // of a segment
}

// writtenBy returns those of a circuit, in which tensors are read up to these chunks.
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

// end returns where a segment ends that begins with a chunk: of the places at which it is half full at least, at the last
// of those that least is read beyond.
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

// users returns the first and the last chunk with a step that writes a tensor, or reads it, by
// itself or through a virtual one; −1 where there is none. Outputs are read in the last chunk.
func users(g *model.Graph) (first, last []int) {
	none := []int{-1}
	first, last = slices.Repeat(none, len(g.Tensors)), slices.Repeat(none, len(g.Tensors))
	var use func(id model.TensorID, chunk int)
	use = func(id model.TensorID, chunk int) {
		if last[id] == chunk { // and so has all that it is defined by
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

// InOrder says whether a circuit's steps are in the order of their chunks, as segments want
// them.
func InOrder(g *model.Graph) bool {
	return slices.IsSortedFunc(g.Steps, func(a, b model.Step) int { return a.Chunk - b.Chunk })
}

// TensorNeed is what a tensor takes in the narrowest type that holds its range.
func TensorNeed(t *model.Tensor) int64 {
	return int64(model.Size(t.Shape)) * int64(device.WidthOfRange(t.Min, t.Max))
}

// Least bounds from below what values of a run take: what no layout can do without.
type Least struct {
	outside  int64   // tensors that more than one segment reads or writes
	inner    []int64 // the others, by segment
	keys     int64   // of look-ups, where they are kept
	uploaded int64   // all values, for a circuit that no device runs
	inOrder  bool
}

// NewLeast returns the bounds of a circuit.
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

// Bytes is the bound in a mode, with what segments take when their values are recomputed.
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
