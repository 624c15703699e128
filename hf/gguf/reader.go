package gguf

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// reader reads the header of a file from the front. It refuses a file that ends too early.
type reader struct {
	data []byte
	at   int
}

// take returns the next n bytes.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)-r.at) {
		refuse.With("the file ends in the middle of its header: it is cut, or damaged")
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *reader) u32() uint32 { return le.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return le.Uint64(r.take(8)) }

// text reads a string of at most most bytes.
func (r *reader) text(most uint64) string {
	n := r.u64()
	if n > most {
		refuse.With("a string of %d bytes where %d are the most", n, most)
	}
	return string(r.take(n))
}

// count reads the number of things that follow, and refuses one for which the rest of the file is too short. Each thing takes at
// least least bytes; what names the things in the message.
func (r *reader) count(what string, least uint64) int {
	n := r.u64()
	if n > uint64(len(r.data)-r.at)/least {
		refuse.With("%d %s cannot be in the %d bytes that follow: the file is cut, or damaged", n, what, len(r.data)-r.at)
	}
	return int(n)
}

// Numbers of some types of metadata in the format.
const (
	kindUint32 = 4
	kindString = 8
	kindArray  = 9
	kindUint64 = 10
)

// metadata is a type of metadata.
type metadata struct {
	bytes uint64                                             // the size of a value, or the least size
	value func(word uint64) any                              // the value for its bytes as a little-endian word; nil for strings and arrays
	list  func(r *reader, n int, kind uint32, depth int) any // reads an array of n such values
}

// kinds are the types of metadata, by their number in the format.
var kinds []metadata

func init() { // not in the declaration, as the functions for arrays read kinds
	whole := func(bytes uint64, value func(word uint64) int64) metadata {
		return metadata{bytes, func(w uint64) any { return value(w) }, elements[int64]}
	}
	plain := func(w uint64) int64 { return int64(w) }
	kinds = []metadata{
		whole(1, plain), whole(1, func(w uint64) int64 { return int64(int8(w)) }),
		whole(2, plain), whole(2, func(w uint64) int64 { return int64(int16(w)) }),
		kindUint32: whole(4, plain), whole(4, func(w uint64) int64 { return int64(int32(w)) }),
		{4, func(w uint64) any { return float64(math.Float32frombits(uint32(w))) }, elements[float64]},
		{1, func(w uint64) any { return w != 0 }, elements[bool]},
		kindString: {8, nil, texts}, kindArray: {12, nil, elements[any]}, kindUint64: whole(8, plain), // value refuses more than 63 bits
		11: whole(8, plain), 12: {8, func(w uint64) any { return math.Float64frombits(w) }, elements[float64]},
	}
}

// maxDepth is the deepest nesting of arrays, and maxArray their greatest length.
// Vocabularies are far shorter.
const (
	maxDepth = 4
	maxArray = 1 << 24
)

// value reads a value of metadata. The result is an int64, float64, bool or string, a slice of
// one of these, or []any for an array of arrays. depth is the number of arrays around it.
func (r *reader) value(kind uint32, depth int) any {
	switch {
	case kind >= uint32(len(kinds)):
		refuse.With("metadata of the unknown type %d", kind)
	case kind == kindString:
		return r.text(math.MaxInt64)
	case kind == kindArray:
		return r.array(depth)
	}
	var word [8]byte
	copy(word[:], r.take(kinds[kind].bytes))
	v := le.Uint64(word[:])
	if kind == kindUint64 && v > math.MaxInt64 {
		refuse.With("the number %d is beyond 63 bits", v)
	}
	return kinds[kind].value(v)
}

func (r *reader) array(depth int) any {
	kind := r.u32()
	if kind >= uint32(len(kinds)) || depth == maxDepth {
		refuse.With("an array of the unknown type %d, or of arrays too deep", kind)
	}
	n := r.count("values of an array", kinds[kind].bytes)
	if n > maxArray {
		refuse.With("an array of %d values, more than %d", n, maxArray)
	}
	return kinds[kind].list(r, n, kind, depth+1)
}

// texts reads n strings. They share one copy of the part of the file that they are in.
func texts(r *reader, n int, _ uint32, _ int) any {
	from := r.at
	for range n {
		r.take(r.u64())
	}
	all := string(r.data[from:r.at])
	out := make([]string, n)
	for i := range out {
		end := 8 + int(le.Uint64(r.data[from:]))
		out[i], all, from = all[8:end], all[end:], from+end
	}
	return out
}

// elements reads an array of n values that are no strings.
func elements[T any](r *reader, n int, kind uint32, depth int) any {
	out := make([]T, n)
	for i := range out {
		out[i] = r.value(kind, depth).(T)
	}
	return out
}

// info is a tensor as the header describes it.
type info struct {
	name   string
	shape  []int // row-major
	kind   tensorType
	offset uint64 // from the beginning of the data, in bytes
	bytes  int
}

// info reads the description of a tensor.
func (r *reader) info() (t info) {
	t.name = r.text(maxName)
	refuse.Within("tensor "+graph.Quote(t.name), func() { r.describe(&t) })
	return t
}

// describe reads the shape, the type and the offset of a tensor, and refuses what is not read.
func (r *reader) describe(t *info) {
	rank := r.u32()
	if rank > maxRank {
		refuse.With("it has %d axes, more than %d", rank, maxRank)
	}
	dims := make([]int64, rank)
	for i := range dims {
		d := r.u64()
		if d > graph.MaxElements {
			refuse.With("dimension %d is too large", d)
		}
		dims[len(dims)-1-i] = int64(d)
	}
	number := r.u32()
	t.offset = r.u64()
	t.shape = must.Get(graph.CheckShape(dims))
	kind, ok := types[number]
	switch {
	case !ok:
		refuse.With("its type %s is not read; take the model in a type that is, such as Q4_K or Q8_0", typeName(number))
	case len(t.shape) == 0 && kind.elems > 1 || len(t.shape) > 0 && t.shape[len(t.shape)-1]%kind.elems != 0:
		refuse.With("rows of shape %v do not divide into blocks of %d for %s", t.shape, kind.elems, kind.name)
	}
	t.kind, t.bytes = kind, graph.Size(t.shape)/kind.elems*kind.bytes
}
