package safetensors

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/mapped"
)

// Open maps the file at path.
func Open(path string) (weights.Set, error) {
	f, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	byName, err := parse(f.Bytes(), f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &weights.Tensors{ByName: byName, From: []*mapped.File{f}}, nil
}

// Parse reads a file in memory, which the tensors point into.
func Parse(data []byte) (weights.Set, error) {
	byName, err := parse(data, nil)
	if err != nil {
		return nil, err
	}
	return &weights.Tensors{ByName: byName}, nil
}

func parse(data []byte, f *mapped.File) (map[string]*weights.Tensor, error) {
	if len(data) < 8 {
		return nil, errors.New("not a SafeTensors file: it has less than eight bytes")
	}
	n := le.Uint64(data)
	if n > maxHeader {
		return nil, fmt.Errorf("not a SafeTensors file, or a hostile one: its header would have %d bytes, more than %d", n, maxHeader)
	}
	if n > uint64(len(data)-8) {
		return nil, fmt.Errorf("its header would have %d bytes, but the file ends after %d: it is cut, or damaged", n, len(data)-8)
	}
	header, body := data[8:8+n], data[8+n:]
	if len(header) == 0 || header[0] != '{' {
		return nil, errors.New("not a SafeTensors file: its header is not a JSON object")
	}
	entries, err := parseHeader(header, len(body))
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*weights.Tensor, len(entries))
	for _, e := range entries {
		dt := dtypes[e.dtype]
		raw := body[e.begin:e.end:e.end]
		if e.dtype == "BOOL" {
			if i := slices.IndexFunc(raw, func(b byte) bool { return b > 1 }); i >= 0 {
				return nil, fmt.Errorf("tensor %s: element %d of type BOOL is %d", graph.Quote(e.name), i, raw[i])
			}
		}
		byName[e.name] = &weights.Tensor{
			Name: e.name, Shape: e.shape, Type: e.dtype, File: f, Raw: raw,
			Elems: 1, Bytes: dt.bytes, Decode: dt.decode, Whole: dt.whole, Finite: dt.finite,
		}
	}
	return byName, nil
}
