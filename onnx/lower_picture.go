package onnx

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/picture"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
	"github.com/prove-model/prove-model/vocabulary"
)

// fileType replaces the type uint8 of inputs that are the bytes of picture files. No value of a graph has it:
// files are decoded to numbers before the graph runs (package vocabulary).
const fileType graph.DType = -1

// isPicture says whether a node decodes pictures.
func isPicture(n *onnxpb.NodeProto) bool {
	return n.GetOpType() == "ImageDecoder" && standardDomain(n.GetDomain()) && len(n.Input) == 1 && len(n.Output) == 1
}

// markFiles gives type fileType to inputs of bytes that only decoders of pictures read.
func (f *fileGraph) markFiles() {
	reads := map[string]int{}
	for _, n := range f.nodes {
		if isPicture(n) {
			reads[n.Input[0]]++
		}
	}
	for i, v := range f.inputs {
		t := v.GetType().GetTensorType()
		if n := reads[v.GetName()]; n == 0 || n != f.uses[v.GetName()] || graph.DType(t.GetElemType()) != graph.Uint8 || t.Shape != nil && len(t.Shape.Dim) != 1 {
			continue
		}
		file := &onnxpb.TypeProto_Tensor{ElemType: int32(fileType), Shape: &onnxpb.TensorShapeProto{}}
		f.inputs[i] = &onnxpb.ValueInfoProto{Name: v.Name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: file}}}
	}
}

// sizePictures sets the shapes of decoded pictures. It learns them from given files, or from given arrays that
// have the shape of the decoded pictures.
func (f *fileGraph) sizePictures(opts Options) error {
	if f.pictures == nil {
		f.pictures = map[string][]int{}
	}
	declared := declaredInputs(f.inputs)
	for _, n := range f.nodes {
		if !isPicture(n) || f.pictures[n.Output[0]] != nil {
			continue
		}
		at := slices.IndexFunc(declared, func(in graph.Input) bool { return in.Name == n.Input[0] && in.DType == fileType })
		for _, given := range []Inputs{opts.given, opts.Samples} {
			if at < 0 || f.pictures[n.Output[0]] != nil {
				break
			}
			shape, err := given.pictureShape(declared, at, n.Output[0], pixelOrder(n))
			if err != nil {
				return &InputsError{fmt.Errorf("input %s: %w", graph.Quote(n.Input[0]), err)}
			}
			f.pictures[n.Output[0]] = shape
		}
	}
	return nil
}

// pixelOrder returns the order of channels of a decoder's result.
func pixelOrder(n *onnxpb.NodeProto) string {
	for _, a := range n.Attribute {
		if a.GetName() == "pixel_format" {
			return string(a.S)
		}
	}
	return picture.RGB
}

// pictureShape returns the shape of the decoded picture of input number at; out is the name of the decoder's result.
// It returns nil if the arrays do not show the shape.
func (in Inputs) pictureShape(declared []graph.Input, at int, out, order string) ([]int, error) {
	if i := slices.IndexFunc(in, func(v Input) bool { return v.Name == out && len(v.Shape) == 3 }); i >= 0 {
		return in[i].Shape, nil
	}
	arrays, err := refuse.Result(func() Inputs { return in.assign(declared) })
	if err != nil || at >= len(arrays) || len(arrays[at].Strings) == 0 {
		return nil, nil // the error is reported where the arrays are assigned in the end
	}
	height, width, err := picture.Size([]byte(arrays[at].Strings[0]))
	return []int{height, width, picture.Channels(order)}, err
}

// isShape says whether an array has only a shape, and no elements.
func (v Input) isShape() bool {
	return v.Values == nil && v.Strings == nil && v.table == nil && v.pictures == nil
}

// asFile turns an array into the bytes of files: of the files that its pictures were read from, or of one file
// whose bytes are its numbers.
func (v *Input) asFile(name string) {
	switch {
	case v.DType == fileType: // it has been turned already
		return
	case v.files != nil:
		v.Strings = v.files
	case v.Values != nil:
		file := make([]byte, len(v.Values))
		for i, x := range v.Values {
			if file[i] = byte(max(0, min(x, 255))); float64(file[i]) != x {
				refuse.With("input %s takes the bytes of a picture's file, and number %d is %v", graph.Quote(name), i, x)
			}
		}
		v.Strings = []string{string(file)}
	case !v.isShape():
		refuse.With("input %s takes a picture: give its file, or the file's bytes as numbers", graph.Quote(name))
	}
	v.Values, v.Numbers, v.pictures, v.files, v.DType, v.Shape = nil, 0, nil, nil, fileType, []int{}
	if len(v.Strings) > 1 { // samples
		v.Shape = nil
	}
}

// pixelFormat reads the order of channels.
func (o *op) pixelFormat() string {
	order := o.strAttr("pixel_format", picture.RGB)
	o.failIf(picture.Channels(order) == 0, "pixel_format %s is not known", graph.Quote(order))
	return order
}

// lowerPicture reads an ImageDecoder of a constant file, whose pixels are a constant. For other
// operands it reports an error.
func lowerPicture(o *op) {
	order, out := o.pixelFormat(), o.proto.Output[0]
	if t := o.Tensor(o.in(0)); t != nil && t.DType == graph.Uint8 {
		height, width, pixels, err := picture.Decode(converted[byte](t.I64), order)
		o.failIf(err != nil, "%v", err)
		o.result(0, o.Table(&graph.Tensor{Shape: []int{height, width, picture.Channels(order)}, DType: graph.Uint8, I64: converted[int64](pixels)}))
		return
	}
	o.failf("it decodes bytes of %s, which are no input that it alone reads, nor constant: decode the picture outside of the model, and give the pixels as the input (--output %s names them)",
		graph.Quote(o.proto.Input[0]), graph.Quote(out))
}

// decodedPicture reads an ImageDecoder of an input that is a file: the vocabulary decodes
// it, and the pixels are an input of the graph.
func decodedPicture(o *op) {
	order, out := o.pixelFormat(), o.proto.Output[0]
	shape := o.file.pictures[out]
	o.failIf(shape == nil,
		"the picture decides on its shape: open the model with one (--input), of the size that all have")
	o.givesNumbers(1, vocabulary.Step{Decode: &vocabulary.Decode{Order: order, Shape: slices.Clone(shape)}}, graph.Uint8)
}
