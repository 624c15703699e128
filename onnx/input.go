package onnx

import (
	"bytes"
	"fmt"
	"image"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/picture"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/internal/regular"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// maxInputFile bounds the bytes of an input file, also after it is unpacked: its numbers
// are kept as float64.
const maxInputFile = 1 << 28

// Input is the array for one model input, row-major. A picture or a table gets its values
// only when the model's input is known ([Inputs.For]).
type Input struct {
	Name    string      // the name of the model's input, from the file or as given; empty when neither says
	Shape   []int       // nil when the file gives a flat list without a shape
	DType   graph.DType // 0 when the format does not say
	Values  []float64
	Strings []string      // nil unless the file has strings; then Values is nil, unless all of them stand for numbers
	Numbers graph.Numbers // the kind of numbers that Values has; a model is opened for it
	Note    string        // which part of the file was ignored, for the user

	numbered bool // NumPy gave the name by position (arr_0): it counts only if an input has this name
	table    *table
	pictures []image.Image
	files    []string // the contents of the files of pictures
	scale    Pictures // how pictures become numbers
}

// Inputs are the inputs of one run.
type Inputs []Input

// Options returns options for a model with these inputs: their shapes and counts
// determine its open dimensions, and dims gives sizes to those that they leave open.
func (in Inputs) Options(dims map[string]int) Options {
	return Options{Dims: dims, given: in}
}

// describe adds the shapes, counts and kinds of numbers of the inputs, in the model's
// order.
func (o Options) describe(in Inputs) Options {
	for _, v := range in {
		o.pictures = append(o.pictures, len(v.pictures))
		o.InputShapes = append(o.InputShapes, v.Shape)
		o.InputLens = append(o.InputLens, max(len(v.Values), len(v.Strings)))
		o.InputNumbers = append(o.InputNumbers, v.Numbers)
	}
	return o
}

// Data returns the values in order, as RunFloat takes them.
func (in Inputs) Data() [][]float64 {
	return each(in, func(v Input) []float64 { return v.Values })
}

// ReadInputs reads the inputs of one run from files. Each is given as a path, or as
// name=path, where name is an input for which the file has one array. If a name is given
// several times, its files are samples, which are joined. Files without a name are in the
// order of the inputs, or contain the names themselves. The extension says what a file
// contains:
//
//   - .json: lists of numbers, or of strings, nested as the axes are, for one input; an object of them by
//     the inputs' names; or {"input_data": [[…], …]}, one for each input in order, beside
//     which "input_shapes" may give their shapes and other keys are passed over
//   - .npy: one array; .npz: one array for each input, by name or in the archive's order
//   - .pb: one ONNX TensorProto
//   - .csv, .tsv: a table whose first line names the columns: one input, or for each input
//     the column of its name
//   - .png, .jpg, .jpeg, .bmp, .tif, .tiff, .webp, .pgm, .ppm: a picture, resized to the input's shape and scaled as WithPictures
//     says, or else to [0, 1]. The resulting numbers are the input.
//
// The path - is standard input. Its first bytes tell which format it has; of the pictures, it recognises PNG and JPEG.
//
// Fractions in text and NumPy files are rounded to float32, the type of a model's inputs.
// NaN and infinities are accepted if the model has a meaning for them; in JSON they are
// "NaN", "Infinity" and "-Infinity". In tables they are refused.
func ReadInputs(files ...string) (Inputs, error) {
	return refuse.Result(func() (all Inputs) {
		for _, file := range files {
			name, path := nameOf(file)
			in := readFile(path)
			if name != "" {
				refuse.If(len(in) != 1, "%s: holds %d arrays, and --input %s= takes one", path, len(in), name)
				in[0].Name, in[0].numbered = name, false
			}
			all = append(all, in...)
		}
		return all.merge()
	})
}

// nameOf splits name=path, unless a file with that whole name exists.
func nameOf(file string) (name, path string) {
	name, path, ok := strings.Cut(file, "=")
	if _, err := os.Stat(file); !ok || name == "" || err == nil {
		return "", file
	}
	return name, path
}

// formats has the functions that read files, by extension.
var formats = map[string]func([]byte) Inputs{
	".json": parseJSON, ".npy": parseNPY, ".npz": parseNPZ, ".pb": parseTensor,
	".csv": parseTable, ".tsv": parseTable, ".png": parsePicture, ".jpg": parsePicture, ".jpeg": parsePicture,
	".bmp": parseOther, ".tif": parseOther, ".tiff": parseOther, ".webp": parseOther, ".pgm": parseOther, ".ppm": parseOther,
}

// stdin is the path of standard input.
const stdin = "-"

func readFile(path string) Inputs {
	if path == stdin {
		data, err := io.ReadAll(io.LimitReader(os.Stdin, maxInputFile+1))
		refuse.If(err != nil, "standard input: %w", err)
		refuse.If(len(data) > maxInputFile, "standard input: more than %d bytes", maxInputFile)
		return parseInputs("standard input", data, formats[extensionOf(data)])
	}
	read, ok := formats[strings.ToLower(filepath.Ext(path))]
	if !ok {
		must.Get(regular.Open(path)).Close() // report a missing file, or a folder, first
		refuse.With("%s: inputs are read from .json, .npy, .npz, .pb, .csv, .tsv, .png, .jpg, .bmp, .tiff, .webp, .pgm and .ppm files", path)
	}
	return parseInputs(path, must.Get(regular.Read(path, maxInputFile)), read)
}

// extensionOf returns the extension for a file with this content, by its first bytes: JSON begins with a bracket, a
// table has a first line of text, and anything else is taken for a tensor.
func extensionOf(data []byte) string {
	for begin, ext := range map[string]string{
		"\x93NUMPY": ".npy", "PK\x03\x04": ".npz", "\x89PNG": ".png", "\xff\xd8\xff": ".jpg", "II*\x00": ".tiff", "MM\x00*": ".tiff",
	} {
		if bytes.HasPrefix(data, []byte(begin)) {
			return ext
		}
	}
	if _, _, err := picture.Size(data); err == nil { // the others begin with letters
		return ".bmp"
	}
	text := bytes.TrimLeft(data, " \t\r\n\ufeff")
	if len(text) > 0 && (text[0] == '[' || text[0] == '{') {
		return ".json"
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if utf8.Valid(line) && !bytes.ContainsFunc(bytes.TrimRight(line, "\r"), func(r rune) bool { return r < ' ' && r != '\t' }) {
		return ".csv"
	}
	return ".pb"
}

// parseInputs reads the content of a file.
func parseInputs(path string, data []byte, read func([]byte) Inputs) (in Inputs) {
	refuse.Within(path, func() {
		in = read(data)
		in.asFloats()
		in.check()
	})
	for i := range in {
		in[i].scale = wholePictures
		if in[i].Note != "" {
			in[i].Note = path + ": " + in[i].Note
		}
	}
	return in
}

// asFloats rounds fractions to float32 if the format states no type: a model's threshold
// of 0.1 is a float32, and an input of 0.1 must compare as equal to it.
func (in Inputs) asFloats() {
	for _, v := range in {
		for i, x := range v.Values {
			if f := float64(float32(x)); v.DType == 0 && x != math.Trunc(x) && !math.IsInf(f, 0) {
				v.Values[i] = f
			}
		}
	}
}

// check refuses empty inputs, and sets Numbers.
func (in Inputs) check() {
	refuse.If(len(in) == 0, "holds no inputs")
	for i := range in {
		v := &in[i]
		what := fmt.Sprintf("input %d", i)
		if v.Name != "" {
			what = "input " + graph.Quote(v.Name)
		}
		refuse.If(v.DType == 0 && len(v.Values)+len(v.Strings) == 0 && !slices.Contains(v.Shape, 0) && v.table == nil && v.pictures == nil,
			"%s is empty", what)
		v.Numbers = graph.NumbersOf(v.Values)
	}
}

// parseTensor reads one ONNX TensorProto.
func parseTensor(data []byte) Inputs {
	p := new(onnxpb.TensorProto)
	err := (proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth}).Unmarshal(data, p)
	refuse.If(err != nil, "not an ONNX tensor, or damaged: %w", err)
	if graph.DType(p.GetDataType()) == stringType {
		w := decodeStrings(p)
		return Inputs{{Name: p.GetName(), Shape: w.shape(), DType: stringType, Strings: w.constant}}
	}
	t := decode(p, (&source{}).external)
	in := Input{Name: p.GetName(), Shape: t.Shape, DType: t.DType, Values: t.Float64s()}
	if in.DType == graph.Double { // decode has rounded them to float32
		in.Values = doubles(p)
	}
	return Inputs{in}
}

// doubles returns the elements of a tensor of type double that decode has accepted.
func doubles(p *onnxpb.TensorProto) []float64 {
	if len(p.RawData) == 0 {
		return slices.Clone(p.DoubleData)
	}
	return filled(len(p.RawData)/8, func(i int) float64 { return math.Float64frombits(bitsOf(p.RawData, i, 64)) })
}
