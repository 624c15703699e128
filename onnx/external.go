package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/internal/regular"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// source finds the bytes of external tensors.
type source struct {
	dir   string // the model's folder; empty when the model is in memory
	files map[string]*mapped.File
}

// external returns the bytes of a tensor that another file holds. The file
// must lie in the model's folder or below, links included.
func (s *source) external(t *onnxpb.TensorProto) (data []byte, err error) {
	var location string
	var offset int64
	length := int64(-1)
	for _, kv := range t.ExternalData {
		switch kv.GetKey() {
		case "location":
			location = kv.GetValue()
		case "offset":
			offset, err = strconv.ParseInt(kv.GetValue(), 10, 64)
		case "length":
			length, err = strconv.ParseInt(kv.GetValue(), 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("external data: %s %s is no number", kv.GetKey(), graph.Quote(kv.GetValue()))
		}
	}
	if s.dir == "" {
		return nil, errors.New("external data, but the model is not read from a folder")
	}
	if location == "" {
		return nil, errors.New("external data without a location")
	}
	if !filepath.IsLocal(location) {
		return nil, fmt.Errorf("external data at %s: the path leaves the model's folder", graph.Quote(location))
	}
	f, err := s.open(filepath.Clean(location))
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	total := int64(len(f.Bytes()))
	if offset < 0 || offset > total {
		return nil, fmt.Errorf("external data: offset %d, but %s has %d bytes", offset, graph.Quote(location), total)
	}
	if length == -1 {
		length = total - offset
	}
	if length < 0 || length > total-offset {
		return nil, fmt.Errorf("external data: %d bytes at %d, but %s has %d", length, offset, graph.Quote(location), total)
	}
	return f.Bytes()[offset : offset+length], nil
}

// open maps a file of the model's folder once.
func (s *source) open(name string) (*mapped.File, error) {
	if f := s.files[name]; f != nil {
		return f, nil
	}
	return refuse.Result(func() *mapped.File {
		root := must.Get(os.OpenRoot(s.dir))
		defer root.Close()
		f := must.Get(regular.OpenIn(root, name))
		defer f.Close()
		s.files[name] = must.Get(mapped.Read(f))
		return s.files[name]
	})
}

func (s *source) close() {
	for _, f := range s.files {
		f.Close()
	}
}
