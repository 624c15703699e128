package gguf

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Bounds on a header. The format itself allows tensors of up to four axes, and names of up to 64
// bytes.
const (
	maxName = 1 << 12
	maxRank = 4
	// leastInfo and leastPair are the least bytes that a tensor's description takes, and a
	// metadata key with its value.
	leastInfo = 8 + 4 + 4 + 8
	leastPair = 8 + 4 + 1
)

// File is a GGUF file: its tensors and its metadata.
type File struct {
	// Meta is the metadata by key. A value is an int64, float64, bool or string, or a slice of
	// these or of slices.
	Meta map[string]any

	weights.Tensors
}

// Open maps the file at path, which the caller closes.
func Open(path string) (*File, error) {
	m, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := refuse.Result(func() *File { return parse(m.Bytes(), m) })
	if err != nil {
		m.Close()
	}
	return f, err
}

// parse reads a file. The tensors point into data; m is nil if data is not mapped.
func parse(data []byte, m *mapped.File) *File {
	if !bytes.HasPrefix(data, []byte("GGUF")) {
		refuse.With("not a GGUF file")
	}
	r := &reader{data: data, at: 4}
	switch version := r.u32(); {
	case version&0xffff == 0:
		refuse.With("a GGUF file of big-endian numbers, which are not read; convert it")
	case version != 2 && version != 3:
		refuse.With("version %d of the GGUF format; 2 and 3 are read", version)
	}
	tensors := r.count("tensors", leastInfo)
	pairs := r.count("metadata entries", leastPair)
	f := &File{Meta: map[string]any{}, Tensors: weights.Tensors{ByName: map[string]*weights.Tensor{}}}
	if m != nil {
		f.From = []*mapped.File{m}
	}
	for range pairs {
		key := r.text(1 << 16)
		v := r.value(r.u32(), 0)
		if f.Meta[key] != nil {
			refuse.With("metadata %s is there twice", graph.Quote(key))
		}
		f.Meta[key] = v
	}
	infos := make([]info, 0, min(tensors, 1<<12))
	for range tensors {
		infos = append(infos, r.info())
	}
	alignment := f.alignment()
	start := min((r.at+alignment-1)/alignment*alignment, len(data))
	f.place(infos, data[start:], alignment, m)
	return f
}

// alignment is the number of bytes to whose multiples the data, and every tensor in it, are aligned.
func (f *File) alignment() int {
	v, ok := f.Meta["general.alignment"]
	if !ok {
		return 32
	}
	n, ok := v.(int64)
	if !ok || n < 8 || n > 1<<20 || n&(n-1) != 0 {
		refuse.With(`"general.alignment" is %v, not a power of two from 8 to 2^20`, v)
	}
	return int(n)
}

// place adds the tensors with their bytes in data to f. It refuses tensors that overlap or are not aligned.
func (f *File) place(infos []info, data []byte, alignment int, m *mapped.File) {
	slices.SortStableFunc(infos, func(a, b info) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.bytes, b.bytes))
	})
	end := uint64(0)
	for _, t := range infos {
		switch {
		case t.offset%uint64(alignment) != 0:
			refuse.With("tensor %s begins at byte %d of the data, which is not aligned to %d", graph.Quote(t.name), t.offset, alignment)
		case t.offset < end:
			refuse.With("tensor %s overlaps the one before it", graph.Quote(t.name))
		case t.offset > uint64(len(data)) || uint64(t.bytes) > uint64(len(data))-t.offset:
			refuse.With("tensor %s would end beyond the file: it is cut, or damaged", graph.Quote(t.name))
		case f.ByName[t.name] != nil:
			refuse.With("two tensors are called %s", graph.Quote(t.name))
		}
		end = t.offset + uint64(t.bytes)
		f.ByName[t.name] = &weights.Tensor{
			Name: t.name, Shape: t.shape, Type: t.kind.name, File: m, Raw: data[t.offset:end:end],
			Elems: t.kind.elems, Bytes: t.kind.bytes, Decode: t.kind.blocks(), Whole: t.kind.whole, Finite: t.kind.finite(),
		}
	}
}
