package onnx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// maxInputFile bounds an input file, and what it unpacks to: its numbers are
// kept as float64.
const maxInputFile = 1 << 28

// Input is one model input, row-major and finite.
type Input struct {
	Name   string      // as in the file; empty when the format has none
	Shape  []int       // nil when the file gives a flat list without a shape
	DType  graph.DType // 0 when the format does not say
	Values []float64
}

// Inputs are the inputs of one run.
type Inputs []Input

// Options returns options with what is known of the inputs, and dims for what
// that leaves open.
func (in Inputs) Options(dims map[string]int) Options {
	o := Options{Dims: dims}
	for _, v := range in {
		o.InputShapes = append(o.InputShapes, v.Shape)
		o.InputLens = append(o.InputLens, len(v.Values))
		o.InputNames = append(o.InputNames, v.Name)
	}
	return o
}

// Data returns the values in order, as RunFloat takes them.
func (in Inputs) Data() [][]float64 {
	out := make([][]float64, len(in))
	for i, v := range in {
		out[i] = v.Values
	}
	return out
}

// Names returns the names in order, empty where the file has none.
func (in Inputs) Names() []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = v.Name
	}
	return out
}

// ReadInputs reads the inputs of one run from a file, by its extension:
//
//   - .json: {"input_data": [[…], …]}, one list, possibly nested, for each
//     input; "input_shapes" may give their shapes. Other keys are ignored.
//   - .npy: one array; .npz: one array for each input, in the archive's order
//   - .pb: one ONNX TensorProto
//
// Fractions in .json and NumPy files are rounded to float32, as a model has them. NaN and
// infinities are refused.
func ReadInputs(path string) (Inputs, error) {
	read, ok := map[string]func([]byte) (Inputs, error){
		".json": parseJSON, ".npy": parseNPY, ".npz": parseNPZ, ".pb": parseTensor,
	}[strings.ToLower(filepath.Ext(path))]
	if !ok {
		return nil, fmt.Errorf("%s: inputs are read from .json, .npy, .npz and .pb files", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxInputFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxInputFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxInputFile)
	}
	in, err := read(data)
	if err == nil {
		in.asFloats()
		err = in.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return in, nil
}

// asFloats rounds decimal fractions to float32, which is what a model gets: a threshold
// of 0.1 is one as well.
func (in Inputs) asFloats() {
	for _, v := range in {
		for i, x := range v.Values {
			if f := float64(float32(x)); v.DType == 0 && x != math.Trunc(x) && !math.IsInf(f, 0) {
				v.Values[i] = f
			}
		}
	}
}

// check refuses inputs that no model takes.
func (in Inputs) check() error {
	if len(in) == 0 {
		return errors.New("holds no inputs")
	}
	for i, v := range in {
		if len(v.Values) == 0 && v.DType == 0 { // of a type, it may be fixed
			return fmt.Errorf("input %d is empty", i)
		}
		for j, x := range v.Values {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("input %d: element %d is %v", i, j, x)
			}
		}
	}
	return nil
}

// parseJSON reads {"input_data": …, "input_shapes": …}.
func parseJSON(data []byte) (Inputs, error) {
	var file struct {
		Data   []json.RawMessage `json:"input_data"`
		Shapes [][]int64         `json:"input_shapes"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Data == nil {
		return nil, errors.New(`has no "input_data"`)
	}
	if file.Shapes != nil && len(file.Shapes) != len(file.Data) {
		return nil, fmt.Errorf(`"input_shapes" has %d entries, "input_data" %d`, len(file.Shapes), len(file.Data))
	}
	in := make(Inputs, len(file.Data))
	for i, raw := range file.Data {
		var err error
		if in[i].Values, in[i].Shape, err = parseList(raw); err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		if len(in[i].Shape) <= 1 {
			in[i].Shape = nil // a number or a flat list says nothing about axes
		}
		if file.Shapes == nil {
			continue
		}
		shape, err := graph.CheckShape(file.Shapes[i])
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		if graph.Size(shape) != len(in[i].Values) {
			return nil, fmt.Errorf("input %d: shape %v has %d elements, but %d are given", i, shape, graph.Size(shape), len(in[i].Values))
		}
		in[i].Shape = shape
	}
	return in, nil
}

// parseList flattens nested lists of numbers (true and false are 1 and 0) and
// returns their shape.
func parseList(raw []byte) ([]float64, []int, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var values []float64
	var counts []int  // of the lists that are open
	leaves := -1      // depth of the numbers
	closed := []int{} // length of closed lists at each depth, or −1
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		var v float64
		switch tok := tok.(type) {
		case json.Delim:
			if tok == '[' {
				if len(counts) > 0 {
					counts[len(counts)-1]++
				}
				counts = append(counts, 0)
				if len(counts) > graph.MaxRank {
					return nil, nil, fmt.Errorf("lists are nested deeper than %d", graph.MaxRank)
				}
				if len(closed) < len(counts) {
					closed = append(closed, -1)
				}
				continue
			}
			if tok != ']' {
				return nil, nil, errors.New("holds an object where numbers are expected")
			}
			depth := len(counts) - 1
			if closed[depth] >= 0 && closed[depth] != counts[depth] {
				return nil, nil, errors.New("nested lists have different lengths")
			}
			closed[depth] = counts[depth]
			counts = counts[:depth]
			continue
		case json.Number:
			if v, err = tok.Float64(); err != nil {
				return nil, nil, fmt.Errorf("%s is not a number that can be held", graph.Quote(tok.String()))
			}
		case bool:
			if tok {
				v = 1
			}
		default:
			return nil, nil, fmt.Errorf("holds %v where numbers are expected", graph.Quote(fmt.Sprint(tok)))
		}
		if leaves < 0 {
			leaves = len(counts)
		}
		if len(counts) != leaves {
			return nil, nil, errors.New("numbers are nested unevenly")
		}
		if leaves > 0 {
			counts[leaves-1]++
		}
		values = append(values, v)
	}
	if leaves >= 0 && len(closed) != leaves || graph.Size(closed) != len(values) {
		return nil, nil, errors.New("lists are nested unevenly")
	}
	return values, closed, nil
}

// parseTensor reads one ONNX TensorProto.
func parseTensor(data []byte) (Inputs, error) {
	p := new(onnxpb.TensorProto)
	if err := (proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth}).Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("not an ONNX tensor, or damaged: %w", err)
	}
	t, err := decode(p, (&source{}).external)
	if err != nil {
		return nil, err
	}
	return Inputs{{Name: p.GetName(), Shape: t.Shape, DType: t.DType, Values: t.Float64s()}}, nil
}
