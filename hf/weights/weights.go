// Package weights is the common form of files of weights, whatever their format: named
// tensors, which stay in stored form until their numbers are read.
package weights

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/parallel"
)

// Set is the tensors of a model, which are in one file or in several.
type Set interface {
	// Names lists the tensors, ascending.
	Names() []string
	// Get returns the tensor of that name, or nil.
	Get(name string) *Tensor
	// Files are the files that the tensors point into, which the caller closes.
	Files() []*mapped.File
}

// Tensor is a dense, row-major tensor as it is stored.
type Tensor struct {
	Name  string
	Shape []int
	Type  string // the format's name of the type, such as "BF16"

	File *mapped.File // the file that Raw is a part of; nil if it is not mapped
	Raw  []byte       // the stored bytes of all elements

	// Numbers are stored in blocks of Elems numbers, and a block has Bytes bytes. Elems is 1 except
	// for quantised types. Decode sets dst to the numbers of the blocks in src; it is nil for float32
	// and for integers.
	Elems, Bytes int
	Decode       func(dst []float32, src []byte)
	// Finite, if set, reports, without decoding, whether all numbers of whole blocks are
	// finite.
	Finite func(src []byte) bool
	// Row, if set, says that rows are stored in another order: row i of the tensor is stored row
	// Row(i).
	Row func(i int) int
	// Whole is set for integer types only: it returns the number that src begins with.
	Whole func(src []byte) int64
}

// Len returns the number of elements.
func (t *Tensor) Len() int { return graph.Size(t.Shape) }

// grain is the least number of blocks that a goroutine is started for.
const grain = 1 << 12

// Floats returns the numbers in float32. If they are stored so and aligned, the result
// is the mapped file itself; the caller must not change it. An element that is not
// finite is an error.
func (t *Tensor) Floats() ([]float32, error) {
	if t.Whole != nil {
		return nil, fmt.Errorf("tensor %s is of type %s, where floats are expected", graph.Quote(t.Name), t.Type)
	}
	t.advise((*mapped.File).Will)
	var out []float32
	switch {
	case t.Row != nil:
		out = make([]float32, t.Len())
		parallel.For(len(out), grain*t.Elems, func(lo, hi int) { t.part(out[lo:hi], lo) })
	case t.Decode == nil:
		out = mapped.Float32s(t.Raw, t.Len())
	default:
		out = make([]float32, t.Len())
		parallel.For(len(t.Raw)/t.Bytes, grain, func(lo, hi int) {
			t.Decode(out[lo*t.Elems:hi*t.Elems], t.Raw[lo*t.Bytes:hi*t.Bytes])
		})
		t.advise((*mapped.File).Done)
	}
	if i := notFinite(out); i >= 0 {
		return nil, fmt.Errorf("tensor %s: element %d is %v; a model with such weights computes nothing", graph.Quote(t.Name), i, out[i])
	}
	return out, nil
}

// storedPart is how many numbers are decoded and checked at a time.
const storedPart = 1 << 14

// Stored returns the numbers in their stored form, which is decoded whenever they are read.
// An element that is not finite is an error.
func (t *Tensor) Stored() (*graph.Stored, error) {
	if t.Whole != nil {
		return nil, fmt.Errorf("tensor %s is of type %s, where floats are expected", graph.Quote(t.Name), t.Type)
	}
	t.advise((*mapped.File).Will)
	if i := t.notFinite(); i >= 0 {
		var x [1]float32
		t.part(x[:], i)
		return nil, fmt.Errorf("tensor %s: element %d is %v; a model with such weights computes nothing", graph.Quote(t.Name), i, x[0])
	}
	return graph.NewStored(t.Len(), t.part), nil
}

// notFinite returns the index of the first number that is not finite, or −1.
func (t *Tensor) notFinite() int {
	if t.Finite != nil {
		// Search whole blocks in the order of the file, whatever the order of the rows.
		i := first(len(t.Raw)/t.Bytes, grain, func(lo, hi int) int {
			if t.Finite(t.Raw[lo*t.Bytes : hi*t.Bytes]) {
				return -1
			}
			return lo
		})
		if i < 0 {
			return -1
		}
	}
	return first(t.Len(), grain, func(lo, hi int) int {
		buf := make([]float32, min(storedPart, hi-lo))
		for ; lo < hi; lo += len(buf) {
			buf = buf[:min(len(buf), hi-lo)]
			t.part(buf, lo)
			if i := graph.FirstNonFinite(buf); i >= 0 {
				return lo + i
			}
		}
		return -1
	})
}

// part sets dst to the numbers of the tensor from index from on, in row-major order.
func (t *Tensor) part(dst []float32, from int) {
	if t.Row == nil {
		t.blocks(dst, from)
		return
	}
	width := t.Len() / t.Shape[0]
	for len(dst) > 0 {
		row, at := from/width, from%width
		n := min(len(dst), width-at)
		t.blocks(dst[:n], t.Row(row)*width+at)
		dst, from = dst[n:], from+n
	}
}

// blocks is Read for parts that may begin or end inside a block.
func (t *Tensor) blocks(dst []float32, from int) {
	var one []float32
	for len(dst) > 0 {
		skip := from % t.Elems
		n := min(len(dst), t.Elems-skip)
		if n == t.Elems {
			n = len(dst) - len(dst)%t.Elems
			t.Read(dst[:n], from)
		} else {
			if one == nil {
				one = make([]float32, t.Elems)
			}
			t.Read(one, from-skip)
			copy(dst, one[skip:][:n])
		}
		dst, from = dst[n:], from+n
	}
}

// Read sets dst to the stored numbers from index from on, in float32, in the order in which
// they are stored and without checking them. The part must consist of whole blocks.
func (t *Tensor) Read(dst []float32, from int) {
	if t.Decode == nil {
		copy(dst, mapped.Float32s(t.Raw[4*from:], len(dst)))
		return
	}
	t.Decode(dst, t.Raw[from/t.Elems*t.Bytes:(from+len(dst))/t.Elems*t.Bytes])
}

// advise applies f, a hint to the operating system, to the tensor's part of its file, if it is mapped.
func (t *Tensor) advise(f func(*mapped.File, []byte)) {
	if t.File != nil {
		f(t.File, t.Raw)
	}
}

// notFinite returns the index of the first NaN or infinity, or −1.
func notFinite(v []float32) int {
	return first(len(v), 1<<16, func(lo, hi int) int {
		if i := graph.FirstNonFinite(v[lo:hi]); i >= 0 {
			return lo + i
		}
		return -1
	})
}

// first returns the least index that f finds in any part [lo, hi) of [0, n), or −1 if it finds none. Calls of f run in parallel, each on a
// part of its own, and return −1 for a part with nothing to find.
func first(n, grain int, f func(lo, hi int) int) int {
	var least atomic.Int64
	least.Store(math.MaxInt64)
	parallel.For(n, grain, func(lo, hi int) {
		at := int64(f(lo, hi))
		for old := least.Load(); at >= 0 && at < old && !least.CompareAndSwap(old, at); {
			old = least.Load()
		}
	})
	if at := least.Load(); at < math.MaxInt64 {
		return int(at)
	}
	return -1
}
