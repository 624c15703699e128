package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// dim is one declared dimension: a size, or a symbol where size is 0.
type dim struct {
	size   int // declaredEmpty if it is declared to be 0
	symbol string
}

const declaredEmpty = -1

// inputValues determines the shapes of the graph inputs. A dimension that the file leaves
// open gets its value from opts.Dims, or from the shape or the element count of the given
// input. A leading dimension that nothing else determines is 1. The error names every
// dimension that is left, and mentions --dim.
func inputValues(inputs []*onnxpb.ValueInfoProto, opts Options) ([]graph.Input, error) {
	if opts.given != nil {
		given, err := opts.given.assign(declaredInputs(inputs))
		if err != nil {
			return nil, &InputsError{err}
		}
		opts = opts.describe(given)
	}
	if opts.Samples != nil {
		given, err := opts.Samples.assign(declaredInputs(inputs))
		if err != nil {
			return nil, err
		}
		opts = opts.sampledBy(Options{}.describe(given))
	}
	for i, w := range declaredInputs(inputs) { // before a size is taken from the count of the numbers
		if err := (Input{Shape: inputShape(opts, i)}).fits(w); err != nil {
			return nil, &InputsError{err}
		}
	}
	values := make([]graph.Input, len(inputs))
	declared := make([][]dim, len(inputs))
	bound := map[string]int{}
	names := slices.Sorted(maps.Keys(opts.Dims)) // so that errors are the same every time
	for _, name := range names {
		if bound[name] = opts.Dims[name]; bound[name] < 1 {
			return nil, fmt.Errorf("dimension %s is %d; it must be at least 1", name, bound[name])
		}
	}
	asked := map[string]bool{}
	for i, in := range inputs {
		t := in.GetType().GetTensorType()
		if t == nil {
			return nil, fmt.Errorf("input %s is not a tensor", graph.Quote(in.GetName()))
		}
		values[i] = graph.Input{Name: in.GetName(), DType: graph.DType(t.GetElemType())}
		if !values[i].DType.Known() {
			return nil, fmt.Errorf("input %s has %v, which is not supported", graph.Quote(in.GetName()), values[i].DType)
		}
		dims, err := declaredDims(in, inputShape(opts, i))
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", graph.Quote(in.GetName()), err)
		}
		declared[i] = dims
		for _, d := range dims {
			asked[d.symbol] = true
		}
	}
	for _, name := range names {
		if !asked[name] {
			return nil, fmt.Errorf("--dim %s: the model's inputs have no such dimension; theirs are %s", name, list(asked))
		}
	}
	// Whole shapes first, then counts, then the default: each may fix symbols
	// that other inputs share.
	for i := range declared {
		bindShape(declared[i], inputShape(opts, i), bound)
	}
	for i, dims := range declared {
		// The number of pictures is the size of the batch, whatever the pictures' own
		// sizes are.
		if i < len(opts.pictures) && opts.pictures[i] > 0 && len(dims) == 4 && dims[0].size == 0 && bound[dims[0].symbol] == 0 {
			bound[dims[0].symbol] = opts.pictures[i]
		}
	}
	for i := range declared {
		if i < len(opts.InputLens) {
			bindCount(declared[i], opts.InputLens[i], bound)
		}
	}
	open := map[string]bool{}
	for _, dims := range declared {
		for axis, d := range dims {
			if d.size != 0 || bound[d.symbol] != 0 {
				continue
			}
			if axis == 0 {
				bound[d.symbol] = 1
			} else {
				open[d.symbol] = true
			}
		}
	}
	for s := range open { // a leading use elsewhere may have fixed it since
		if bound[s] != 0 {
			delete(open, s)
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("the model leaves dimensions open: give each a value with --dim name=value: %s", list(open))
	}
	for i, dims := range declared {
		shape := make([]int64, len(dims))
		symbols := make([]string, len(dims))
		for axis, d := range dims {
			shape[axis] = int64(max(d.size, 0))
			if d.size == 0 {
				shape[axis], symbols[axis] = int64(bound[d.symbol]), d.symbol
				values[i].Symbols = symbols
			}
		}
		s, err := graph.CheckShape(shape)
		if err == nil && graph.Size(s) > graph.MaxActivations {
			err = fmt.Errorf("shape %v is too large", s)
		}
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", graph.Quote(values[i].Name), err)
		}
		values[i].Shape = s
		if err := (Input{Shape: inputShape(opts, i)}).fits(graph.Input{Name: values[i].Name, Shape: s}); err != nil {
			return nil, &InputsError{err}
		}
		if i < len(opts.InputNumbers) && values[i].DType.IsFloat() {
			values[i].Numbers = opts.InputNumbers[i]
		}
		if i < len(opts.InputLens) && opts.InputLens[i] > 0 && opts.InputLens[i] != graph.Size(s) {
			return nil, &InputsError{fmt.Errorf("input %s has shape %v, %d elements, but %d are given", graph.Quote(values[i].Name), s, graph.Size(s), opts.InputLens[i])}
		}
	}
	return values, nil
}

// sampledBy adds what calibration samples say about the inputs: whether they have numbers
// that are not finite.
func (o Options) sampledBy(samples Options) Options {
	all := make([]graph.Numbers, max(len(o.InputNumbers), len(samples.InputNumbers)))
	copy(all, o.InputNumbers)
	for i, n := range samples.InputNumbers {
		all[i] = all[i].Union(n)
	}
	o.InputNumbers = all
	return o
}

// declaredInputs returns the inputs with the dimensions that the file gives; an open
// dimension is 0.
func declaredInputs(inputs []*onnxpb.ValueInfoProto) []graph.Input {
	out := make([]graph.Input, len(inputs))
	for i, in := range inputs {
		out[i].Name = in.GetName()
		for _, d := range in.GetType().GetTensorType().GetShape().GetDim() {
			out[i].Shape = append(out[i].Shape, int(min(max(d.GetDimValue(), 0), graph.MaxElements)))
			out[i].Symbols = append(out[i].Symbols, d.GetDimParam())
		}
	}
	return out
}

// inputShape returns the known shape of input i, or nil.
func inputShape(opts Options, i int) []int {
	if i < len(opts.InputShapes) {
		return opts.InputShapes[i]
	}
	return nil
}

// declaredDims returns the dimensions that the file gives for an input. An
// input without any takes its rank from given.
func declaredDims(in *onnxpb.ValueInfoProto, given []int) ([]dim, error) {
	s := in.GetType().GetTensorType().GetShape()
	var dims []dim
	if s == nil {
		if given == nil {
			return nil, fmt.Errorf("the model does not declare its shape, and the input given has none")
		}
		dims = make([]dim, len(given))
	} else {
		if len(s.Dim) > graph.MaxRank {
			return nil, fmt.Errorf("%d axes, more than %d", len(s.Dim), graph.MaxRank)
		}
		dims = make([]dim, len(s.Dim))
		for axis, d := range s.Dim {
			if dims[axis].symbol = d.GetDimParam(); dims[axis].symbol == "?" { // each its own
				dims[axis].symbol = ""
			}
			switch v := d.Value.(type) {
			case *onnxpb.TensorShapeProto_Dimension_DimValue:
				if v.DimValue > graph.MaxElements {
					return nil, fmt.Errorf("dimension %d is too large", v.DimValue)
				}
				// Some exporters write −1 for an open dimension.
				dims[axis].size = int(max(v.DimValue, 0))
				if v.DimValue == 0 {
					dims[axis].size = declaredEmpty
				}
			}
		}
	}
	for axis := range dims {
		if dims[axis].size == 0 && dims[axis].symbol == "" {
			dims[axis].symbol = fmt.Sprintf("%s[%d]", in.GetName(), axis)
		}
	}
	return dims, nil
}

// bindShape determines open dimensions from a shape of the same rank, or of one rank less
// (without the batch), if all other dimensions agree.
func bindShape(dims []dim, shape []int, bound map[string]int) {
	if len(shape) > 0 && len(shape) == len(dims)-1 {
		shape = append([]int{1}, shape...)
	}
	if len(shape) != len(dims) {
		return
	}
	for axis, d := range dims {
		have := d.size
		if have == 0 {
			have = bound[d.symbol]
		}
		if d.size == declaredEmpty && shape[axis] == 0 {
			continue
		}
		if shape[axis] < 1 || have != 0 && have != shape[axis] {
			return
		}
	}
	for axis, d := range dims {
		if d.size == 0 {
			bound[d.symbol] = shape[axis]
		}
	}
}

// bindCount determines open dimensions from the number of elements. A single open
// dimension follows by division. If several are open and the leading one is among them,
// the leading one is taken to be 1 first.
func bindCount(dims []dim, count int, bound map[string]int) {
	known := 1
	var open []int
	for axis, d := range dims {
		have := d.size
		if have == 0 {
			have = bound[d.symbol]
		}
		if have == 0 {
			open = append(open, axis)
			continue
		}
		if have == declaredEmpty { // the count says nothing
			return
		}
		if known > graph.MaxElements/have {
			return
		}
		known *= have
	}
	if len(open) == 2 && open[0] == 0 && dims[0].symbol != dims[open[1]].symbol {
		bound[dims[0].symbol] = 1
		open = open[1:]
	}
	if len(open) == 1 && count > 0 && count%known == 0 {
		bound[dims[open[0]].symbol] = count / known
	}
}

// list writes the keys of a set for a message.
func list(set map[string]bool) string {
	var names []string
	for s := range set {
		if s != "" {
			names = append(names, graph.Quote(s))
		}
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
