package gguf

import (
	"errors"
	"fmt"
	"math"

	"github.com/prove-model/prove-model/graph"
)

// reader reads numbers from the front of data. After an error it returns zeros.
type reader struct {
	data []byte
	at   int
	err  error
}

var errCut = errors.New("the file ends in the middle of its header: it is cut, or damaged")

// take returns the next n bytes, nil if there are not so many.
func (r *reader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.data)-r.at) {
		r.err = errCut
	}
	if r.err != nil {
		return nil
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return le.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return le.Uint64(b)
	}
	return 0
}

// text reads a string of at most most bytes.
func (r *reader) text(most uint64) string {
	n := r.u64()
	if r.err == nil && n > most {
		r.err = fmt.Errorf("a string of %d bytes where %d are the most", n, most)
	}
	return string(r.take(n))
}

// count reads the number of things that follow, each of at least least bytes; it
// fails if there are not that many bytes.
func (r *reader) count(what string, least uint64) int {
	n := r.u64()
	if r.err == nil && n > uint64(len(r.data)-r.at)/least {
		r.err = fmt.Errorf("%d %s cannot be in the %d bytes that follow: the file is cut, or damaged", n, what, len(r.data)-r.at)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// The types of metadata, by their number in the format.
const (
	kindUint8 = iota
	kindInt8
	kindUint16
	kindInt16
	kindUint32
	kindInt32
	kindFloat32
	kindBool
	kindString
	kindArray
	kindUint64
	kindInt64
	kindFloat64
)

// kindBytes has the least bytes of a value of each type.
var kindBytes = [...]uint64{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8}

// maxDepth is the deepest nesting of arrays, maxArray their greatest length;
// vocabularies are far shorter.
const (
	maxDepth = 4
	maxArray = 1 << 24
)

// value reads a value of metadata: an int64, float64, bool, string, or a slice of
// one of these; []any for arrays of arrays.
func (r *reader) value(kind uint32, depth int) any {
	switch {
	case r.err != nil:
		return nil
	case kind >= uint32(len(kindBytes)):
		r.err = fmt.Errorf("metadata of the unknown type %d", kind)
		return nil
	case kind == kindString:
		return r.text(math.MaxInt64)
	case kind == kindArray:
		return r.array(depth)
	}
	var word [8]byte
	copy(word[:], r.take(kindBytes[kind]))
	v := le.Uint64(word[:])
	switch kind {
	case kindBool:
		return v != 0
	case kindInt8:
		return int64(int8(v))
	case kindInt16:
		return int64(int16(v))
	case kindInt32:
		return int64(int32(v))
	case kindFloat32:
		return float64(math.Float32frombits(uint32(v)))
	case kindFloat64:
		return math.Float64frombits(v)
	case kindUint64:
		if v > math.MaxInt64 {
			r.err = fmt.Errorf("the number %d is beyond 63 bits", v)
		}
	}
	return int64(v)
}

func (r *reader) array(depth int) any {
	kind := r.u32()
	if r.err != nil {
		return nil
	}
	if kind >= uint32(len(kindBytes)) || depth == maxDepth {
		r.err = fmt.Errorf("an array of the unknown type %d, or of arrays too deep", kind)
		return nil
	}
	n := r.count("values of an array", kindBytes[kind])
	if r.err == nil && n > maxArray {
		r.err = fmt.Errorf("an array of %d values, more than %d", n, maxArray)
	}
	if r.err != nil {
		return nil
	}
	switch kind {
	case kindString:
		return r.texts(n)
	case kindBool:
		return elements[bool](r, n, kind, depth)
	case kindFloat32, kindFloat64:
		return elements[float64](r, n, kind, depth)
	case kindArray:
		out := make([]any, 0, min(n, 1024))
		for range n {
			out = append(out, r.value(kind, depth+1))
			if r.err != nil {
				return nil
			}
		}
		return out
	}
	return elements[int64](r, n, kind, depth)
}

// texts reads n strings, which share one copy of what they are read from.
func (r *reader) texts(n int) []string {
	from := r.at
	for range n {
		r.take(r.u64())
	}
	if r.err != nil {
		return nil
	}
	all := string(r.data[from:r.at])
	out := make([]string, n)
	for i := range out {
		end := 8 + int(le.Uint64(r.data[from:]))
		out[i], all, from = all[8:end], all[end:], from+end
	}
	return out
}

func elements[T any](r *reader, n int, kind uint32, depth int) []T {
	out := make([]T, 0, n)
	for range n {
		v, ok := r.value(kind, depth).(T)
		if r.err != nil || !ok {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// info is a tensor as the header describes it.
type info struct {
	name   string
	shape  []int // row-major
	kind   tensorType
	offset uint64 // in the data
	bytes  int
}

// info reads the description of a tensor.
func (r *reader) info() info {
	t := info{name: r.text(maxName)}
	rank := r.u32()
	if r.err == nil && rank > maxRank {
		r.err = fmt.Errorf("tensor %s has %d axes, more than %d", graph.Quote(t.name), rank, maxRank)
	}
	if r.err != nil {
		return t
	}
	dims := make([]int64, rank)
	for i := range dims {
		d := r.u64()
		if d > graph.MaxElements {
			r.fail(t, fmt.Errorf("dimension %d is too large", d))
			return t
		}
		dims[len(dims)-1-i] = int64(d)
	}
	number := r.u32()
	t.offset = r.u64()
	if r.err != nil {
		return t
	}
	var err error
	if t.shape, err = graph.CheckShape(dims); err != nil {
		r.fail(t, err)
		return t
	}
	kind, ok := types[number]
	switch {
	case !ok:
		r.fail(t, fmt.Errorf("its type %s is not read; take the model in a type that is, such as Q4_K or Q8_0", typeName(number)))
	case len(t.shape) == 0 && kind.elems > 1 || len(t.shape) > 0 && t.shape[len(t.shape)-1]%kind.elems != 0:
		r.fail(t, fmt.Errorf("rows of shape %v do not divide into blocks of %d for %s", t.shape, kind.elems, kind.name))
	}
	t.kind = kind
	if ok {
		t.bytes = graph.Size(t.shape) / kind.elems * kind.bytes
	}
	return t
}

func (r *reader) fail(t info, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("tensor %s: %w", graph.Quote(t.name), err)
	}
}
