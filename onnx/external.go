package onnx

import (
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

// source reads external tensors, and keeps the files that they are in.
type source struct {
	dir   string                  // the model's folder; empty when the model is in memory
	files map[string]*mapped.File // by their path in dir; "" is the model file
}

// external returns the bytes of a tensor that is in another file. The file must lie in
// the model's folder or below; links must not lead out of it.
func (s *source) external(t *onnxpb.TensorProto) []byte {
	var location string
	var offset int64
	length := int64(-1)
	for _, kv := range t.ExternalData {
		var err error
		switch kv.GetKey() {
		case "location":
			location = kv.GetValue()
		case "offset":
			offset, err = strconv.ParseInt(kv.GetValue(), 10, 64)
		case "length":
			length, err = strconv.ParseInt(kv.GetValue(), 10, 64)
		}
		refuse.If(err != nil, "external data: %s %s is no number", kv.GetKey(), graph.Quote(kv.GetValue()))
	}
	refuse.If(s.dir == "", "external data, but the model is not read from a folder")
	refuse.If(location == "", "external data without a location")
	refuse.If(!filepath.IsLocal(location), "external data at %s: the path leaves the model's folder", graph.Quote(location))
	var f *mapped.File
	refuse.Within("external data", func() { f = s.open(filepath.Clean(location)) })
	total := int64(len(f.Bytes()))
	refuse.If(offset < 0 || offset > total, "external data: offset %d, but %s has %d bytes", offset, graph.Quote(location), total)
	if length == -1 {
		length = total - offset
	}
	refuse.If(length < 0 || length > total-offset,
		"external data: %d bytes at %d, but %s has %d", length, offset, graph.Quote(location), total)
	return f.Bytes()[offset : offset+length]
}

// open maps a file of the model's folder, if it is not mapped already.
func (s *source) open(name string) *mapped.File {
	if f := s.files[name]; f != nil {
		return f
	}
	root := must.Get(os.OpenRoot(s.dir))
	defer root.Close()
	f := must.Get(regular.OpenIn(root, name))
	defer f.Close()
	s.files[name] = must.Get(mapped.Read(f))
	return s.files[name]
}

func (s *source) close() {
	for _, f := range s.files {
		f.Close()
	}
}
