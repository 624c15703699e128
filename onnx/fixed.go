package onnx

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// fix turns the inputs of the file that are given into constants of the model.
func (f *fileGraph) fix(given Inputs) {
	for _, v := range given {
		at := slices.IndexFunc(f.inputs, func(in *onnxpb.ValueInfoProto) bool { return in.GetName() == v.Name })
		refuse.If(at < 0, "%s is to be fixed, but the model has no input of that name", graph.Quote(v.Name))
		refuse.If(v.table != nil || v.pictures != nil || v.Values == nil && v.Strings != nil,
			"input %s is to be fixed: give it as .npy, .json or .pb, as numbers", graph.Quote(v.Name))
		var t *graph.Tensor
		refuse.Within(fmt.Sprintf("input %s, which is to be fixed", graph.Quote(v.Name)), func() {
			v.takeShape(f.inputs[at])
			t = v.tensor(graph.DType(f.inputs[at].GetType().GetTensorType().GetElemType()))
		})
		f.fixed[v.Name] = t
		f.inputs = slices.Delete(f.inputs, at, at+1)
	}
}

// takeShape refuses a shape that is not the declared one: unlike an input of a run, a fixed input is no batch of
// samples. Values without a shape get the declared one, if it is fully known and has as many elements.
func (in *Input) takeShape(declared *onnxpb.ValueInfoProto) {
	if declared.GetType().GetTensorType().GetShape() == nil {
		return
	}
	dims := declaredDims(declared, nil)
	want, known, fits := make([]int, len(dims)), true, len(in.Shape) == len(dims)
	names := make([]string, len(dims))
	for axis, d := range dims {
		want[axis], names[axis] = max(d.size, 0), fmt.Sprint(max(d.size, 0))
		if d.size == 0 {
			known, names[axis] = false, graph.Quote(d.symbol)
		}
		fits = fits && (d.size == 0 || in.Shape[axis] == want[axis])
	}
	if in.Shape == nil {
		if known && graph.Size(want) == len(in.Values) {
			in.Shape = want
			return
		}
		in.Shape = []int{len(in.Values)}
		fits = len(dims) == 1 && (dims[0].size == 0 || want[0] == len(in.Values))
	}
	refuse.If(!fits, "the array has shape %v, and the model declares %v", in.Shape, names)
}

// tensor returns an input's values as a constant of type dt, which the model declares.
func (in Input) tensor(dt graph.DType) *graph.Tensor {
	shape := in.Shape
	if shape == nil {
		shape = []int{len(in.Values)}
	}
	if dt.IsFloat() {
		return &graph.Tensor{Shape: shape, DType: dt, F32: converted[float32](in.Values)}
	}
	lo, hi := dt.Bounds()
	return &graph.Tensor{Shape: shape, DType: dt, I64: filled(len(in.Values), func(i int) int64 {
		v := in.Values[i]
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 || v < float64(lo) || v > float64(hi) {
			refuse.With("element %d is %v, which is not of type %v", i, v, dt)
		}
		return int64(v)
	})}
}

// memory is a pseudo-file for the values of fixed inputs, or for a choice of outputs.
// It is listed among the files of a graph, so that the digests of a model, and with
// them the cache, depend on these.
type memory []byte

func (m memory) Bytes() []byte { return m }
func (m memory) Close() error  { return nil }

// file returns the pseudo-file for fixed inputs: a digest of their names, shapes and
// values.
func (in Inputs) file() memory {
	h := sha256.New()
	for _, v := range slices.SortedFunc(slices.Values(in), func(a, b Input) int { return strings.Compare(a.Name, b.Name) }) {
		fmt.Fprintf(h, "%q %v %d\n", v.Name, v.Shape, len(v.Values))
		binary.Write(h, binary.LittleEndian, v.Values)
	}
	return h.Sum([]byte("fixed inputs "))
}
