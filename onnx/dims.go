package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// dim is one dimension as the file declares it: a size, or a symbol if size is 0 (an open
// dimension).
type dim struct {
	size   int // declaredEmpty if the file says 0
	symbol string
}

// declaredEmpty is the size of a dimension that is declared to be 0.
const declaredEmpty = -1

// inputValues determines the shapes of the graph inputs. A dimension that the file leaves
// open gets its value from opts.Dims, or from the shape or the element count of the given
// input. A leading dimension that nothing else determines is 1. The error names every
// dimension that is left, and mentions --dim.
func inputValues(inputs []*onnxpb.ValueInfoProto, opts Options) []graph.Input {
	opts = opts.withData(declaredInputs(inputs))
	sizes := namedSizes(opts.Dims)
	values, declared := declarations(inputs, opts)
	sizes.bind(declared, opts)
	for i := range values {
		sizes.shape(&values[i], declared[i])
		opts.describes(i, values[i])
		if i < len(opts.InputNumbers) && values[i].DType.IsFloat() {
			values[i].Numbers = opts.InputNumbers[i]
		}
	}
	return values
}

// withData adds to the options what the given inputs and the samples reveal about the
// declared inputs: shapes, counts and kinds of numbers.
func (o Options) withData(declared []graph.Input) Options {
	o.given, o.Samples = o.given.ofTexts(declared), o.Samples.ofTexts(declared)
	if o.given != nil {
		given, err := refuse.Result(func() Inputs { return o.given.assign(declared) })
		checkInputs(err)
		o = o.describe(given)
	}
	if o.Samples != nil {
		o = o.sampledBy(Options{}.describe(o.Samples.assign(declared)))
	}
	for i, w := range declared { // checked here, before bind infers sizes from the counts
		checkInputs((Input{Shape: inputShape(o, i)}).fits(w))
	}
	return o
}

// declarations returns the inputs' names and types, and the dimensions that the file
// declares for them.
func declarations(inputs []*onnxpb.ValueInfoProto, opts Options) ([]graph.Input, [][]dim) {
	values := make([]graph.Input, len(inputs))
	declared := make([][]dim, len(inputs))
	asked := map[string]bool{}
	for i, in := range inputs {
		t := in.GetType().GetTensorType()
		refuse.If(t == nil, "input %s is not a tensor", graph.Quote(in.GetName()))
		values[i] = graph.Input{Name: in.GetName(), DType: graph.DType(t.GetElemType())}
		refuse.If(!values[i].DType.Known() && values[i].DType != stringType && values[i].DType != fileType,
			"input %s has %v, which is not supported", graph.Quote(in.GetName()), values[i].DType)
		refuse.Within("input "+graph.Quote(in.GetName()), func() { declared[i] = declaredDims(in, inputShape(opts, i)) })
		for _, d := range declared[i] {
			asked[d.symbol] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(opts.Dims)) {
		if !asked[name] {
			refuse.With("--dim %s: the model's inputs have no such dimension; theirs are %s", name, list(asked))
		}
	}
	return values, declared
}

// sizes maps the symbols of open dimensions to their sizes. A symbol is absent while its
// size is unknown.
type sizes map[string]int

// namedSizes returns the sizes that the user gives by name.
func namedSizes(dims map[string]int) sizes {
	s := sizes{}
	for _, name := range slices.Sorted(maps.Keys(dims)) { // so that errors are the same every time
		s[name] = dims[name]
		refuse.If(s[name] < 1, "dimension %s is %d; it must be at least 1", name, s[name])
	}
	return s
}

// of returns the size of a dimension; 0 if it is not known yet.
func (s sizes) of(d dim) int {
	if d.size != 0 {
		return d.size
	}
	return s[d.symbol]
}

// bind gives every open dimension a size: first from whole shapes, then from numbers of
// pictures, then from element counts; leading dimensions that are still open become 1. A
// size that one input determines holds for all dimensions with the same symbol.
func (s sizes) bind(declared [][]dim, opts Options) {
	for i := range declared {
		s.bindShape(declared[i], inputShape(opts, i))
	}
	for i, dims := range declared {
		// The number of pictures is the size of the batch, whatever the pictures' own
		// sizes are.
		if i < len(opts.pictures) && opts.pictures[i] > 0 && len(dims) == 4 && s.of(dims[0]) == 0 {
			s[dims[0].symbol] = opts.pictures[i]
		}
	}
	for i := range declared {
		if i < len(opts.InputLens) {
			s.bindCount(declared[i], opts.InputLens[i])
		}
	}
	for _, dims := range declared {
		if len(dims) > 0 && s.of(dims[0]) == 0 {
			s[dims[0].symbol] = 1
		}
	}
	open := map[string]bool{}
	for _, d := range slices.Concat(declared...) {
		if s.of(d) == 0 {
			open[d.symbol] = true
		}
	}
	refuse.If(len(open) > 0,
		"the model leaves dimensions open: give each a value with --dim name=value: %s", list(open))
}

// shape sets the shape of an input, and the symbols of its open dimensions.
func (s sizes) shape(in *graph.Input, dims []dim) {
	shape := make([]int64, len(dims))
	symbols := make([]string, len(dims))
	for axis, d := range dims {
		shape[axis] = int64(max(s.of(d), 0))
		if d.size == 0 {
			symbols[axis] = d.symbol
			in.Symbols = symbols
		}
	}
	refuse.Within("input "+graph.Quote(in.Name), func() {
		in.Shape = must.Get(graph.CheckShape(shape))
		refuse.If(graph.Size(in.Shape) > graph.MaxActivations, "shape %v is too large", in.Shape)
	})
}

// describes refuses the data given for input i if its shape or count is not that of in.
func (o Options) describes(i int, in graph.Input) {
	checkInputs((Input{Shape: inputShape(o, i)}).fits(graph.Input{Name: in.Name, Shape: in.Shape}))
	if n := graph.Size(in.Shape); i < len(o.InputLens) && o.InputLens[i] > 0 && o.InputLens[i] != n {
		checkInputs(fmt.Errorf("input %s has shape %v, %d elements, but %d are given", graph.Quote(in.Name), in.Shape, n, o.InputLens[i]))
	}
}

// sampledBy adds to InputNumbers the NaN and infinities that calibration samples have.
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
		out[i].Name, out[i].DType = in.GetName(), graph.DType(in.GetType().GetTensorType().GetElemType())
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
func declaredDims(in *onnxpb.ValueInfoProto, given []int) []dim {
	s := in.GetType().GetTensorType().GetShape()
	dims := make([]dim, len(given))
	if s == nil {
		refuse.If(given == nil, "the model does not declare its shape, and the input given has none")
	} else {
		refuse.If(len(s.Dim) > graph.MaxRank, "%d axes, more than %d", len(s.Dim), graph.MaxRank)
		dims = each(s.Dim, declaredDim)
	}
	for axis := range dims {
		if dims[axis].size == 0 && dims[axis].symbol == "" {
			dims[axis].symbol = fmt.Sprintf("%s[%d]", in.GetName(), axis)
		}
	}
	return dims
}

// declaredDim returns one dimension as the file declares it. The symbol is empty if the
// file gives none.
func declaredDim(d *onnxpb.TensorShapeProto_Dimension) (out dim) {
	if out.symbol = d.GetDimParam(); out.symbol == "?" { // two such dimensions need not be equal
		out.symbol = ""
	}
	if v, ok := d.Value.(*onnxpb.TensorShapeProto_Dimension_DimValue); ok {
		refuse.If(v.DimValue > graph.MaxElements, "dimension %d is too large", v.DimValue)
		// Some exporters write −1 for an open dimension.
		if out.size = int(max(v.DimValue, 0)); v.DimValue == 0 {
			out.size = declaredEmpty
		}
	}
	return out
}

// bindShape determines open dimensions from a given shape, if it has as many axes, or one
// fewer (a sample without the batch axis), and all known dimensions agree.
func (s sizes) bindShape(dims []dim, shape []int) {
	if len(shape) > 0 && len(shape) == len(dims)-1 {
		shape = append([]int{1}, shape...)
	}
	if len(shape) != len(dims) {
		return
	}
	for axis, d := range dims {
		if d.size == declaredEmpty && shape[axis] == 0 {
			continue
		}
		if have := s.of(d); shape[axis] < 1 || have != 0 && have != shape[axis] {
			return
		}
	}
	for axis, d := range dims {
		if d.size == 0 {
			s[d.symbol] = shape[axis]
		}
	}
}

// bindCount determines open dimensions from the number of elements. If one dimension is
// open, its size is the count divided by the known sizes. If two are open and one of them
// is the leading one, that one is taken to be 1.
func (s sizes) bindCount(dims []dim, count int) {
	known := 1
	var open []int
	for axis, d := range dims {
		have := s.of(d)
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
		s[dims[0].symbol] = 1
		open = open[1:]
	}
	if len(open) == 1 && count > 0 && count%known == 0 {
		s[dims[open[0]].symbol] = count / known
	}
}

// list returns the keys of a set, quoted and sorted, for a message.
func list(set map[string]bool) string {
	delete(set, "")
	if len(set) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(each(slices.Collect(maps.Keys(set)), graph.Quote))), ", ")
}
