package safetensors

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Open maps the file at path and returns its tensors. The caller closes the files of the set.
func Open(path string) (weights.Set, error) {
	f, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	t := &weights.Tensors{From: []*mapped.File{f}}
	if err := refuse.Caught(func() { t.ByName = parse(f.Bytes(), f) }); err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

// Parse reads the contents of a file in memory. The tensors point into data.
func Parse(data []byte) (weights.Set, error) {
	byName, err := refuse.Result(func() map[string]*weights.Tensor { return parse(data, nil) })
	return &weights.Tensors{ByName: byName}, err
}

// parse reads a file; f is nil for one in memory.
func parse(data []byte, f *mapped.File) map[string]*weights.Tensor {
	if len(data) < 8 {
		refuse.With("not a SafeTensors file: it has less than eight bytes")
	}
	n := le.Uint64(data)
	if n > maxHeader {
		refuse.With("not a SafeTensors file, or a hostile one: its header would have %d bytes, more than %d", n, maxHeader)
	}
	if n > uint64(len(data)-8) {
		refuse.With("its header would have %d bytes, but the file ends after %d: it is cut, or damaged", n, len(data)-8)
	}
	header, body := data[8:8+n], data[8+n:]
	if len(header) == 0 || header[0] != '{' {
		refuse.With("not a SafeTensors file: its header is not a JSON object")
	}
	entries := parseHeader(header, len(body))
	byName := make(map[string]*weights.Tensor, len(entries))
	for _, e := range entries {
		dt := dtypes[e.dtype]
		raw := body[e.begin:e.end:e.end]
		if e.dtype == "BOOL" {
			if i := slices.IndexFunc(raw, func(b byte) bool { return b > 1 }); i >= 0 {
				refuse.With("tensor %s: element %d of type BOOL is %d", graph.Quote(e.name), i, raw[i])
			}
		}
		byName[e.name] = &weights.Tensor{
			Name: e.name, Shape: e.shape, Type: e.dtype, File: f, Raw: raw,
			Elems: 1, Bytes: dt.bytes, Decode: dt.decode, Whole: dt.whole, Finite: dt.finite,
		}
	}
	return byName
}
