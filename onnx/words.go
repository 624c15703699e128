package onnx

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/picture"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
	"github.com/prove-model/prove-model/vocabulary"
)

// stringType is TensorProto.STRING. No value of a graph has it: strings of inputs are mapped to
// numbers before the graph runs (package vocabulary), and strings that the model gives are numbers
// of labels in the graph.
const stringType graph.DType = 8

// words are an array of strings outside of the graph: a constant, or a result that a vocabulary
// computes from the inputs.
type words struct {
	dims     []vocabulary.Dim
	constant []string // nil if the strings are computed
}

// shape returns the shape of constant words.
func (w *words) shape() []int {
	return each(w.dims, func(d vocabulary.Dim) int { return d.N })
}

// texts is what a reader knows about strings, by the names of values in the file.
type texts struct {
	words   map[string]*words     // values that are arrays of strings
	labels  map[string][]string   // values whose numbers are indices into these labels
	columns map[string][]string   // names of the entries along a value's last axis
	made    vocabulary.Vocabulary // the vocabulary so far
	put     map[string]bool       // constants that are in made
}

func newTexts() *texts {
	return &texts{words: map[string]*words{}, labels: map[string][]string{}, columns: map[string][]string{}, put: map[string]bool{}}
}

// input adds an input of strings.
func (t *texts) input(in graph.Input) {
	dims := make([]vocabulary.Dim, len(in.Shape))
	for i, n := range in.Shape {
		dims[i].N = n
		if in.Symbols != nil {
			dims[i].Symbol = in.Symbols[i]
		}
	}
	t.words[in.Name] = &words{dims: dims}
}

// vocabulary returns the finished vocabulary; nil if the file has no strings.
func (t *texts) vocabulary(inputs []graph.Input, outputs []string) (*vocabulary.Vocabulary, error) {
	v := t.made
	for _, in := range inputs {
		shape := slices.Clone(in.Shape)
		for i := range in.Symbols {
			if in.Symbols[i] != "" {
				shape[i] = 0
			}
		}
		v.Inputs = append(v.Inputs, vocabulary.Input{Name: in.Name, Strings: in.DType == stringType, File: in.DType == fileType, Shape: shape})
	}
	if v.Results == nil {
		v.Inputs, v.Steps = nil, nil
	}
	for _, out := range outputs {
		if t.labels[out] != nil || t.columns[out] != nil {
			v.Outputs = append(v.Outputs, vocabulary.Output{Name: out, Labels: t.labels[out], Columns: t.columns[out]})
		}
	}
	if v.Results == nil && v.Outputs == nil {
		return nil, nil
	}
	_, err := v.Encode()
	return &v, err
}

// decodeStrings reads a tensor of strings.
func decodeStrings(t *onnxpb.TensorProto) *words {
	shape := must.Get(graph.CheckShape(t.Dims))
	refuse.If(t.Segment != nil || t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL || len(t.StringData) != graph.Size(shape),
		"%d strings for shape %v", len(t.StringData), shape)
	dims := each(shape, func(n int) vocabulary.Dim { return vocabulary.Dim{N: n} })
	return &words{dims, stringsOf(t.StringData)}
}

// stringsOf converts byte strings, which must be in UTF-8.
func stringsOf(list [][]byte) []string {
	return filled(len(list), func(i int) string {
		if !utf8.Valid(list[i]) {
			refuse.With("string %d is not in UTF-8", i)
		}
		return string(list[i])
	})
}

// strings returns an attribute that is a list or a tensor of strings. It returns nil if
// the attribute is absent or has numbers.
func (o *op) strings(name string) (list []string) {
	a := o.attrs[name]
	if a == nil {
		return nil
	}
	delete(o.attrs, name)
	of := a.Strings
	if a.T != nil {
		if graph.DType(a.T.GetDataType()) != stringType {
			o.attrs[name] = a
			return nil
		}
		of = a.T.StringData
	}
	refuse.Within("attribute "+name, func() { list = stringsOf(of) })
	return list
}

// stringsOrTensor returns the attribute NAME_strings or NAME_tensor, if it has strings, and nil
// otherwise.
func (o *op) stringsOrTensor(name string) []string {
	if list := o.strings(name + "_strings"); list != nil {
		return list
	}
	return o.strings(name + "_tensor")
}

// known says whether a value is an array of strings, not of numbers.
func (t *texts) known(name string) bool { return t != nil && t.words[name] != nil }

// labelsOf returns the labels that the numbers of input i stand for; nil if they are just
// numbers.
func (o *op) labelsOf(i int) []string {
	if o.texts == nil || !o.has(i) {
		return nil
	}
	return o.texts.labels[o.proto.Input[i]]
}

// labelled records that the numbers of output i are indices into labels.
func (o *op) labelled(i int, labels []string) {
	o.failIf(o.texts == nil, "gives strings in the body of a node, which is not supported")
	o.said = true
	o.texts.labels[o.proto.Output[i]] = labels
}

// carries has the operators whose results are entries of their first operand in other
// places. So the results of labels are labels.
var carries = map[string]bool{
	"Identity": true, "Reshape": true, "Flatten": true, "Squeeze": true, "Unsqueeze": true, "Transpose": true, "Slice": true,
	"Gather": true, "GatherElements": true, "GatherND": true, "Expand": true, "Tile": true, "ArrayFeatureExtractor": true, "Split": true, "Concat": true,
}

// carryLabels gives the results of the node the labels of its operands. It refuses
// operators that would compute with the numbers of labels.
func (o *op) carryLabels() {
	if o.texts == nil || o.said {
		return
	}
	var labels []string
	for i := range o.proto.Input {
		of := o.labelsOf(i)
		if of == nil {
			continue
		}
		whole := o.proto.GetOpType() == "Concat" && len(o.proto.Input) > 1
		switch {
		case !carries[o.proto.GetOpType()] || i > 0 && !whole:
			o.failf("computes with %s, which are labels, strings that stand for classes: that is not supported; take the classes' numbers or scores before it as the output", graph.Quote(o.proto.Input[i]))
		case labels != nil && !slices.Equal(labels, of), whole && o.labelsOf(0) == nil:
			o.failf("joins labels of different lists, which is not supported")
		}
		labels = of
	}
	for _, out := range o.proto.Output {
		if labels != nil && out != "" {
			o.texts.labels[out] = labels
		}
	}
}

// operand returns input i, which must be an array of strings.
func (o *op) operand(i int) *words {
	o.failIf(!o.has(i) || !o.texts.known(o.proto.Input[i]),
		"operand %d is not of strings that are constant or follow from inputs that are strings", i)
	return o.texts.words[o.proto.Input[i]]
}

// step adds a step to the vocabulary. The step reads the first n inputs of the node, and its results get the given names. step
// returns their shapes.
func (o *op) step(n int, s vocabulary.Step, results ...string) [][]vocabulary.Dim {
	t := o.texts
	var in [][]vocabulary.Dim
	for i := range n {
		w, name := o.operand(i), o.proto.Input[i]
		if w.constant != nil && !t.put[name] {
			t.put[name] = true
			t.made.Steps = append(t.made.Steps, vocabulary.Step{In: []string{}, Out: []string{name}, Constant: &vocabulary.Constant{Shape: w.shape(), Strings: w.constant}})
		}
		in, s.In = append(in, w.dims), append(s.In, name)
	}
	if s.In == nil {
		s.In = []string{}
	}
	s.Out = results
	dims := must.Get(s.Shapes(in))
	t.made.Steps = append(t.made.Steps, s)
	return dims
}

// gives adds a step whose result, output 0 of the node, has strings.
func (o *op) gives(n int, s vocabulary.Step) {
	out := o.proto.Output[0]
	o.texts.words[out] = &words{dims: o.step(n, s, out)[0]}
}

// numbered makes the numbers that a step computes, called name, an input of the graph, and this input the value output of the
// file. A node that computes on with the numbers passes different names.
func (o *op) numbered(name, output string, dims []vocabulary.Dim, dt graph.DType) {
	shape, symbols := make([]int, len(dims)), make([]string, len(dims))
	for i, d := range dims {
		o.failIf(d.N == vocabulary.Unknown,
			"how many numbers it gives depends on the strings: its axis %d has no length", i)
		shape[i], symbols[i] = d.N, d.Symbol
	}
	if !slices.ContainsFunc(symbols, func(s string) bool { return s != "" }) {
		symbols = nil
	}
	o.texts.made.Results = append(o.texts.made.Results, name)
	o.values[output], o.types[output] = o.Input(name, dt, shape, symbols...), dt
}

// givesNumbers adds a step whose result, output 0 of the node, has numbers.
func (o *op) givesNumbers(n int, s vocabulary.Step, dt graph.DType) {
	out := o.proto.Output[0]
	o.numbered(out, out, o.step(n, s, out)[0], dt)
}

// onStrings has the functions that read nodes whose inputs have strings, by operator.
var onStrings map[string]func(*op)

func init() {
	onStrings = map[string]func(*op){
		"StringNormalizer": stringNormalizer, "Tokenizer": stringTokenizer, "TfIdfVectorizer": stringCounts, "StringConcat": func(o *op) { o.gives(2, vocabulary.Step{Join: &vocabulary.Join{}}) },
		"StringSplit": stringSplit, "RegexFullMatch": func(o *op) {
			o.givesNumbers(1, vocabulary.Step{Match: &vocabulary.Match{Expression: o.strAttr("pattern", "")}}, graph.Bool)
		}, "LabelEncoder": stringEncoder, "CategoryMapper": stringCategories, "OneHotEncoder": stringOneHot,
		"Cast": stringCast, "Equal": func(o *op) { o.givesNumbers(2, vocabulary.Step{Equal: &vocabulary.Equal{}}, graph.Bool) },
		"Identity": stringIdentity, "Reshape": stringReshape, "Transpose": stringTranspose,
		"Flatten": func(o *op) {
			o.gives(1, vocabulary.Step{Flatten: &vocabulary.Flatten{Axis: int(o.intAttr("axis", 1))}})
		},
		"Squeeze": func(o *op) { o.gives(1, vocabulary.Step{Squeeze: &vocabulary.Squeeze{Axes: o.axesGiven()}}) },
		"Unsqueeze": func(o *op) {
			o.gives(1, vocabulary.Step{Unsqueeze: &vocabulary.Unsqueeze{Axes: append([]int{}, o.axesGiven()...)}})
		},
		"Gather": stringGather, "ArrayFeatureExtractor": stringFeatures, "Concat": func(o *op) {
			o.gives(len(o.proto.Input), vocabulary.Step{Concat: &vocabulary.Concat{Axis: int(o.intAttr("axis", 0))}})
		}, "ImageDecoder": decodedPicture,
	}
}

// integersAt returns the integers of constant input i.
func (o *op) integersAt(i int, what string) []int {
	return toInts(o.intsInput(i, what))
}

// wholeAttr returns the integers of an attribute; nil if it is absent.
func (o *op) wholeAttr(name string) []int {
	list := o.intsAttr(name)
	if list == nil {
		return nil
	}
	return toInts(list)
}

// toInts converts integers, clamped to ±MaxElements, which is beyond every valid size or
// index.
func toInts(list []int64) []int {
	return each(list, func(v int64) int { return int(max(min(v, graph.MaxElements), -graph.MaxElements)) })
}

func stringNormalizer(o *op) {
	s := &vocabulary.Normalise{Case: o.strAttr("case_change_action", "NONE"), Sensitive: o.flagAttr("is_case_sensitive", false), Stop: o.strings("stopwords")}
	o.ignore("locale")
	o.gives(1, vocabulary.Step{Normalise: s})
}

func stringTokenizer(o *op) {
	s := &vocabulary.Tokenise{Expression: o.strAttr("tokenexp", ""), Separators: o.strings("separators"), Least: int(o.intAttr("mincharnum", 1)),
		Mark: o.flagAttr("mark", false), Pad: o.strAttr("pad_value", "")}
	o.gives(1, vocabulary.Step{Tokenise: s})
}

// stringCounts reads TfIdfVectorizer. The vocabulary counts, and the counts are an input of the
// graph; the graph applies the weights.
func stringCounts(o *op) {
	s := &vocabulary.Count{Least: int(o.intAttr("min_gram_length", 1)), Most: int(o.intAttr("max_gram_length", 1)), Skip: int(o.intAttr("max_skip_count", 0)),
		Pool: o.strings("pool_strings"), Starts: o.wholeAttr("ngram_counts"), Index: o.wholeAttr("ngram_indexes")}
	out := o.proto.Output[0]
	counts := out + "/counts"
	mode, weights := o.wordAttr("mode", "TF", "IDF", "TFIDF"), o.numbersAttr("weights")
	if mode == "TF" {
		counts = out
	}
	o.numbered(counts, out, o.step(1, vocabulary.Step{Count: s}, counts)[0], graph.Float)
	if mode != "TF" {
		o.result(0, o.weighed(o.values[out], mode, weights, s.Index))
	}
}

// weighed returns counts of n-grams, times weights as the mode says. index has the column
// of each n-gram.
func (o *op) weighed(counts graph.Value, mode string, weights []float32, index []int) graph.Value {
	in := o.shape(counts)
	each := slices.Repeat([]float32{1}, in[len(in)-1])
	o.failIf(len(weights) > 0 && len(weights) != len(index), "%d weights for %d n-grams", len(weights), len(index))
	for i, w := range weights {
		each[index[i]] = w
	}
	by := o.Table(&graph.Tensor{Shape: []int{len(each)}, DType: graph.Float, F32: each})
	if mode == "IDF" {
		counts = o.Cast(o.Test(graph.IsPositive, counts), graph.Float)
	}
	return o.Mul(counts, by)
}

// stringSplit reads StringSplit, whose second output, the numbers of parts, may be an input of the
// graph.
func stringSplit(o *op) {
	s := &vocabulary.Split{Delimiter: o.strAttr("delimiter", ""), Most: -1}
	if o.attrs["maxsplit"] != nil {
		s.Most = int(o.intAttr("maxsplit", 0))
	}
	parts := o.proto.Output[0]
	counts := parts + "/number"
	if o.wanted(1) {
		counts = o.proto.Output[1]
	}
	dims := o.step(1, vocabulary.Step{Split: s}, parts, counts)
	o.texts.words[parts] = &words{dims: dims[0]}
	if o.wanted(1) {
		o.numbered(counts, counts, dims[1], graph.Int64)
	}
}

// stringEncoder is LabelEncoder of strings.
func stringEncoder(o *op) {
	keys := o.stringsOrTensor("keys")
	o.failIf(keys == nil, "its keys are numbers, and its operand is strings")
	s := &vocabulary.Replace{Keys: keys, DefaultString: o.strAttr("default_string", "_Unused")}
	if s.Strings = o.stringsOrTensor("values"); s.Strings != nil {
		o.ignore("default_float", "default_int64")
		if d := o.strings("default_tensor"); len(d) == 1 {
			s.DefaultString = d[0]
		}
		o.gives(1, vocabulary.Step{Replace: s})
		return
	}
	values := o.typed("values")
	s.DefaultString, s.Default, s.Numbers = "", o.defaultNumber(values.DType), values.Float64s()
	o.givesNumbers(1, vocabulary.Step{Replace: s}, values.DType)
}

func stringCategories(o *op) {
	s := &vocabulary.Replace{Numbers: converted[float64](o.intsAttr("cats_int64s")), Keys: o.strings("cats_strings"),
		Default: float64(o.intAttr("default_int64", -1))}
	o.ignore("default_string")
	o.givesNumbers(1, vocabulary.Step{Replace: s}, graph.Int64)
}

func stringOneHot(o *op) {
	s := &vocabulary.OneHot{Categories: o.strings("cats_strings"), Known: !o.flagAttr("zeros", true)}
	o.failIf(s.Categories == nil, "its categories are numbers, and its operand is strings")
	o.givesNumbers(1, vocabulary.Step{OneHot: s}, graph.Float)
}

func stringCast(o *op) {
	dt := graph.DType(o.intAttr("to", 0))
	o.ignore("saturate", "round_mode")
	switch {
	case dt == stringType:
		stringIdentity(o)
	case dt == graph.Float || dt == graph.Double:
		o.givesNumbers(1, vocabulary.Step{Parse: &vocabulary.Parse{}}, dt)
	case dt.Known() && !dt.IsFloat() && dt != graph.Bool:
		o.givesNumbers(1, vocabulary.Step{Parse: &vocabulary.Parse{Whole: true}}, dt)
	default:
		o.failf("casts strings to %v, which is not supported", dt)
	}
}

func stringIdentity(o *op) {
	w := *o.operand(0)
	if w.constant == nil { // the same entries, by another name
		o.gives(1, vocabulary.Step{Transpose: &vocabulary.Transpose{Order: upTo(0, len(w.dims))}})
		return
	}
	o.texts.words[o.proto.Output[0]] = &w
}

func stringReshape(o *op) {
	shape := o.wholeAttr("shape")
	if o.has(1) {
		shape = o.integersAt(1, "the shape")
	}
	o.failIf(o.flagAttr("allowzero", false) && slices.Contains(shape, 0), "a shape with 0 of strings is not supported")
	o.gives(1, vocabulary.Step{Reshape: &vocabulary.Reshape{Shape: append([]int{}, shape...)}})
}

// axesGiven returns the axes that input 1 or an attribute gives.
func (o *op) axesGiven() []int {
	if o.has(1) {
		return o.integersAt(1, "the axes")
	}
	return o.wholeAttr("axes")
}

func stringTranspose(o *op) {
	order := o.wholeAttr("perm")
	if order == nil {
		order = upTo(0, len(o.operand(0).dims))
		slices.Reverse(order)
	}
	o.gives(1, vocabulary.Step{Transpose: &vocabulary.Transpose{Order: order}})
}

// chosen makes output 0 the indices, input 1, with which the graph chooses strings from
// the constant list w: numbers with these strings as labels. shape gives the result's
// shape from that of the indices.
func (o *op) chosen(w *words, shape func(of []int) []int) {
	o.failIf(w.constant == nil,
		"%s chooses strings that are not constant, which is not supported", graph.Quote(o.proto.Input[1]))
	at := o.in(1)
	o.result(0, o.Reshape(o.Cast(at, graph.Int64), shape(o.shape(at))))
	o.labelled(0, w.constant)
}

func stringGather(o *op) {
	w, axis := o.operand(0), int(o.intAttr("axis", 0))
	at := o.Tensor(o.in(1))
	if at == nil {
		o.failIf(len(w.dims) != 1, "strings are chosen from a table of %d axes, which is not supported", len(w.dims))
		o.chosen(w, func(of []int) []int { return of })
		return
	}
	o.gives(1, vocabulary.Step{Gather: &vocabulary.Gather{Axis: axis, Index: toInts(at.I64), Shape: append([]int{}, at.Shape...)}})
}

// stringFeatures reads ArrayFeatureExtractor, which chooses entries along the last axis.
func stringFeatures(o *op) {
	w, n := o.operand(0), 0
	n = len(w.dims)
	o.failIf(n == 0, "its first input is one string")
	at := o.Tensor(o.in(1))
	if at == nil {
		o.failIf(n > 2 || n == 2 && w.dims[0].N != 1,
			"strings are chosen from a table of several rows, which is not supported")
		o.chosen(w, func(of []int) []int { return []int{1, graph.Size(of)} })
		return
	}
	shape := []int{at.Len()}
	if n == 1 {
		shape = []int{1, at.Len()}
	}
	o.gives(1, vocabulary.Step{Gather: &vocabulary.Gather{Axis: n - 1, Index: toInts(at.I64), Shape: shape}})
}

// ofStrings is the lowering of an operator that accepts only strings, for a node whose
// input is none.
func ofStrings(o *op) { o.failf("its operand is no string") }

// errNoNumbers is the error about an output of strings that the graph's numbers do not
// determine.
var errNoNumbers = errors.New("follows from strings alone, outside of any proof: there is nothing to prove of it; choose the outputs with --output")

// Mapped maps the arrays that have strings or files to numbers, as the vocabulary says. The receiver has the inputs of the model
// file; the result has those of the graph, by name. Inputs that are mapped already, and a vocabulary that takes no strings (or is
// nil), are returned unchanged.
func (in Inputs) Mapped(v *vocabulary.Vocabulary) (Inputs, error) {
	if !v.Takes() || in.named(v.Results) {
		return in, nil
	}
	out, err := refuse.Result(func() Inputs { return in.mapped(v) })
	if err != nil {
		return nil, &InputsError{err}
	}
	return out, nil
}

// mapped is Mapped for a vocabulary that takes strings or files. Arrays of numbers come first in
// the result, unchanged.
func (in Inputs) mapped(v *vocabulary.Vocabulary) Inputs {
	wanted := make([]graph.Input, len(v.Inputs))
	for i, w := range v.Inputs {
		wanted[i] = graph.Input{Name: w.Name, Shape: w.Shape, DType: graph.Float}
		switch {
		case w.Strings:
			wanted[i].DType = stringType
		case w.File:
			wanted[i].DType = fileType
		}
	}
	arrays := in.assign(wanted)
	refuse.If(len(arrays) != len(wanted),
		"it holds %d arrays, but the model takes %d: %s", len(arrays), len(wanted), inputNames(wanted))
	var out Inputs
	var texts []vocabulary.Array
	for i, a := range arrays {
		if !v.Inputs[i].Strings && !v.Inputs[i].File {
			out = append(out, a)
			continue
		}
		refuse.If(a.Strings == nil, "input %s takes strings, and numbers are given", graph.Quote(wanted[i].Name))
		must.OK(a.fits(wanted[i]))
		texts = append(texts, vocabulary.Array{Name: wanted[i].Name, Shape: a.shapeAs(wanted[i].Shape), Strings: a.Strings})
	}
	mapped := func(r vocabulary.Array) Input { return Input{Name: r.Name, Shape: r.Shape, Values: r.Numbers} }
	return append(out, each(mapSamples(v, texts), mapped)...)
}

// mapSamples maps strings or files to numbers. If there are several files, each is a sample: their numbers are
// joined end to end.
func mapSamples(v *vocabulary.Vocabulary, texts []vocabulary.Array) []vocabulary.Array {
	samples := 1
	if v.Files() {
		samples = len(texts[0].Strings)
	}
	if samples == 1 {
		return must.Get(v.Map(texts, picture.Decode))
	}
	var all []vocabulary.Array
	for k := range samples {
		one := slices.Clone(texts)
		for i := range one {
			refuse.If(len(one[i].Strings) != samples,
				"%d files for %s, and %d for %s", samples, graph.Quote(one[0].Name), len(one[i].Strings), graph.Quote(one[i].Name))
			one[i].Shape, one[i].Strings = []int{}, one[i].Strings[k:k+1]
		}
		results, err := v.Map(one, picture.Decode)
		refuse.If(err != nil, "file %d: %w", k, err)
		if all == nil {
			all = results
			continue
		}
		for i, r := range results {
			all[i].Shape, all[i].Numbers = nil, append(all[i].Numbers, r.Numbers...)
		}
	}
	return all
}

// ofTexts serves keys, which have only the shapes of the graph's inputs. If such shapes are given for results of the vocabulary,
// ofTexts replaces them by shapes of the file's inputs of strings; the first axis, if it is open, is as long as that of the
// results.
func (in Inputs) ofTexts(declared []graph.Input) Inputs {
	is := func(v Input) bool {
		return v.Name != "" && v.isShape() &&
			!slices.ContainsFunc(declared, func(w graph.Input) bool { return w.Name == v.Name })
	}
	mapped := func(w graph.Input) bool { return w.DType == stringType || w.DType == fileType }
	if !slices.ContainsFunc(declared, mapped) || !slices.ContainsFunc(in, is) {
		return in
	}
	out, rows := Inputs{}, 1
	for _, v := range in {
		if !is(v) {
			out = append(out, v)
		} else if len(v.Shape) > 0 {
			rows = v.Shape[0]
		}
	}
	for _, w := range declared {
		if !mapped(w) || out.named([]string{w.Name}) {
			continue
		}
		shape := slices.Clone(w.Shape)
		for axis, n := range shape {
			if n == 0 && axis == 0 {
				shape[axis] = rows
			} else if n == 0 {
				shape[axis] = 1
			}
		}
		out = append(out, Input{Name: w.Name, Shape: shape})
	}
	return out
}

// named says whether there is an array for each of the names.
func (in Inputs) named(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(in, func(v Input) bool { return v.Name == name })
	})
}

// shapeAs returns the shape of an array of strings for an input of shape want, in which 0 is an open dimension. If
// the array has no shape of its own, the first open dimension is as long as the number of strings requires, and the
// others are 1.
func (in Input) shapeAs(want []int) []int {
	n := len(in.Strings)
	shape := in.Shape
	switch {
	case shape == nil: // by the count alone
	case len(shape) == len(want):
		return shape
	case len(shape) == len(want)-1: // without the batch
		return append([]int{1}, shape...)
	case len(shape) > 0 && len(shape) == len(want)+1 && shape[0] == 1:
		return shape[1:]
	}
	out := slices.Clone(want)
	known, open := 1, -1
	for i, d := range want {
		if d != 0 {
			known *= d
		} else if open < 0 {
			open = i
		} else {
			out[i] = 1
		}
	}
	if open >= 0 && known > 0 {
		out[open] = n / known
	}
	return out
}
