package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// classical is the domain of the operators of classical models: trees, support vector
// machines, and operators that prepare the features.
const classical = "ai.onnx.ml"

// classicalLowerings has the lowerings of this domain's operators.
var classicalLowerings = map[string]lowering{
	"TreeEnsembleRegressor": {1, 1, lowerTreeRegressor}, "TreeEnsembleClassifier": {1, 1, lowerTreeClassifier}, "TreeEnsemble": {1, 1, lowerTreeEnsemble},
	"LinearRegressor": {1, 1, lowerLinearRegressor}, "LinearClassifier": {1, 1, lowerLinearClassifier},
	"SVMRegressor": {1, 1, lowerSVMRegressor}, "SVMClassifier": {1, 1, lowerSVMClassifier},
	"Scaler": {1, 1, lowerScaler}, "Normalizer": {1, 1, lowerNormalizer}, "Binarizer": {1, 1, lowerBinarizer}, "Imputer": {1, 1, lowerImputer},
	"FeatureVectorizer": {0, many, lowerFeatureVectorizer}, "ArrayFeatureExtractor": {2, 2, lowerFeatureExtractor},
	"LabelEncoder": {1, 1, lowerLabelEncoder}, "OneHotEncoder": {1, 1, lowerOneHotEncoder}, "ZipMap": {1, 1, lowerZipMap},
	"CategoryMapper": {1, 1, lowerCategoryMapper},
}

// numbersAttr returns a list of floats: the attribute of this name, or the tensor
// attribute whose name has _as_tensor appended; nil if both are absent.
func (o *op) numbersAttr(name string) []float32 {
	t := o.numbersTensor(name + "_as_tensor")
	if a := o.attrs[name]; t == nil && a != nil && a.T != nil {
		t = o.numbersTensor(name)
	}
	var list []float32
	if t != nil {
		list = filled(t.Len(), func(i int) float32 { return float32(t.At(i)) })
	} else if a := o.attr(name, onnxpb.AttributeProto_FLOATS); a != nil {
		list = a.Floats
	}
	if i := graph.FirstNonFinite(list); i >= 0 {
		o.failf("element %d of attribute %s is %v", i, name, list[i])
	}
	return list
}

// sets returns the sets of numbers in a tensor attribute. A NaN ends each set.
func (o *op) sets(name string) [][]float32 {
	t := o.tensorAttr(name)
	if t == nil {
		return nil
	}
	var all [][]float32
	var set []float32
	for i := range t.Len() {
		switch v := t.At(i); {
		case math.IsNaN(v):
			all, set = append(all, set), nil
		case math.IsInf(v, 0):
			o.failf("element %d of attribute %s is %v", i, name, v)
		default:
			set = append(set, float32(v))
		}
	}
	if set != nil {
		all = append(all, set)
	}
	return all
}

// floatFeatures returns an input as floats.
func (o *op) floatFeatures(i int) graph.Value {
	x := o.in(i)
	o.shape(x)
	return o.Cast(x, graph.Float)
}

// features returns a list as a constant; it must have one number for each feature of x,
// or one for all. It returns nil if the list is empty.
func (o *op) features(x graph.Value, name string, list []float32) []graph.Value {
	in := o.shape(x)
	if len(list) == 0 {
		return nil
	}
	if n := len(in); len(list) != 1 && (n == 0 || len(list) != in[n-1]) {
		o.failf("attribute %s has %d numbers for shape %v", name, len(list), in)
	}
	return []graph.Value{o.Table(&graph.Tensor{Shape: []int{len(list)}, DType: graph.Float, F32: list})}
}

// lowerScaler is (x − offset)·scale.
func lowerScaler(o *op) {
	x := o.floatFeatures(0)
	for _, offset := range o.features(x, "offset", o.numbersAttr("offset")) {
		x = o.Sub(x, offset)
	}
	for _, scale := range o.features(x, "scale", o.numbersAttr("scale")) {
		x = o.Mul(x, scale)
	}
	o.result(0, x)
}

func lowerNormalizer(o *op) {
	x := o.floatFeatures(0)
	axes := []int{len(o.shape(x)) - 1}
	o.failIf(axes[0] < 0, "its input is one number")
	switch o.wordAttr("norm", "MAX", "L1", "L2") {
	case "L1":
		o.result(0, o.Div(x, o.Reduce(graph.Sum, o.Apply(graph.Abs, x), axes, true)))
	case "L2":
		o.result(0, o.Norm(graph.Norm{Axes: axes, Sum: true}, x))
	default:
		o.result(0, o.Div(x, o.ReduceMax(x, axes, true)))
	}
}

func lowerBinarizer(o *op) {
	x := o.floatFeatures(0)
	above := o.Test(graph.IsPositive, o.Sub(x, o.Number(o.floatAttr("threshold", 0))))
	o.result(0, o.Cast(above, graph.Float))
}

// lowerImputer replaces one number, 0 unless the node says which, by another. If it is NaN, and the samples of the input have none, the
// result is x itself.
func lowerImputer(o *op) {
	x := o.in(0)
	o.shape(x)
	floats, whole := o.numbersAttr("imputed_value_floats"), o.intsAttr("imputed_value_int64s")
	var missing, fill graph.Value // where x is replaced, and by what
	if len(whole) > 0 {
		o.ignore("replaced_value_float")
		old := o.Integers([]int{}, []int64{o.intAttr("replaced_value_int64", 0)})
		missing = o.Compare(graph.Equal, x, o.Cast(old, o.DType(x)))
		fill = o.Cast(o.Integers([]int{len(whole)}, whole), o.DType(x))
	} else {
		o.ignore("replaced_value_int64")
		if a := o.attrs["replaced_value_float"]; a != nil && math.IsNaN(float64(a.GetF())) {
			o.ignore("replaced_value_float")
			if missing = o.IsNaN(x); o.Tensor(missing) != nil { // nowhere
				o.result(0, x)
				return
			}
		} else {
			missing = o.Compare(graph.Equal, x, o.Cast(o.Number(o.floatAttr("replaced_value_float", 0)), o.DType(x)))
		}
		for _, v := range o.features(x, "imputed_value_floats", floats) {
			fill = o.Cast(v, o.DType(x))
		}
	}
	o.failIf(!o.Valid(fill), "has no value that replaces another")
	o.result(0, o.Where(missing, fill, x))
}

func lowerFeatureVectorizer(o *op) {
	sizes := o.intsAttr("inputdimensions")
	var parts []graph.Value
	for i := range o.proto.Input {
		x := o.floatFeatures(i)
		in := o.shape(x)
		if len(in) == 1 {
			x = o.Reshape(x, []int{1, in[0]})
		}
		n := len(in)
		o.failIf(n < 1 || n > 2 || i < len(sizes) && sizes[i] != int64(in[n-1]), "input %d has shape %v", i, in)
		parts = append(parts, x)
	}
	o.result(0, o.Concat(1, parts...))
}

// lowerFeatureExtractor selects elements along the last axis, either at constant indices,
// or at computed indices from a constant.
func lowerFeatureExtractor(o *op) {
	x, in := o.ranked(0, 1)
	last := len(in) - 1
	if at := o.in(1); o.Tensor(at) == nil {
		n := graph.Size(o.shape(at))
		if o.Tensor(x) == nil {
			o.failf("its indices must be constant, but %s (or else its first input must be constant)", o.Depends(at))
		}
		dt := o.DType(x)
		hot := o.Cast(o.OneHot(o.Reshape(at, []int{n, 1}), 1, in[last]), graph.Float)
		rows := o.Reshape(o.Cast(x, graph.Float), []int{graph.Size(in[:last]), in[last]})
		picked := o.Transpose(o.MatMul(hot, o.Transpose(rows, []int{1, 0})), []int{1, 0})
		if !dt.IsFloat() {
			picked = o.Whole(picked, dt)
		}
		shape := append(slices.Clone(in[:last]), n)
		if last == 0 {
			shape = []int{1, n}
		}
		o.result(0, o.Reshape(picked, shape))
		return
	}
	t := o.Tensor(o.in(1))
	o.failIf(t.I64 == nil, "its indices have type %v", t.DType)
	index := o.eachAxis(t.I64, in[last]) // in the same range as axes
	y := o.Gather(x, last, index)
	if last == 0 {
		y = o.Reshape(y, []int{1, len(index)})
	}
	o.result(0, y)
}

// typed returns the attribute of a LabelEncoder that is present among name_tensor,
// name_int64s and name_floats, as a tensor.
func (o *op) typed(name string) *graph.Tensor {
	if t := o.numbersTensor(name + "_tensor"); t != nil {
		return t
	}
	if v := o.intsAttr(name + "_int64s"); v != nil {
		return &graph.Tensor{Shape: []int{len(v)}, DType: graph.Int64, I64: v}
	}
	if v := o.numbersAttr(name + "_floats"); v != nil {
		return &graph.Tensor{Shape: []int{len(v)}, DType: graph.Float, F32: v}
	}
	o.failf("its %s are not numbers, and its operand is no string", name)
	return nil
}

// defaultNumber returns the number to which a LabelEncoder with values of type dt maps
// unknown keys.
func (o *op) defaultNumber(dt graph.DType) float64 {
	defer o.ignore("default_string", "default_float", "default_int64")
	switch t := o.numbersTensor("default_tensor"); {
	case t != nil && t.Len() == 1:
		return t.At(0)
	case dt.IsFloat():
		return o.floatAttr("default_float", 0)
	}
	return float64(o.intAttr("default_int64", -1))
}

// lowerLabelEncoder maps keys to values. Strings are represented by numbers of labels: string keys by those of the operand's
// labels, string values by indices into a list without repetitions, which are the labels of the result.
func lowerLabelEncoder(o *op) {
	x := o.in(0)
	var keys *graph.Tensor
	labels, strings := o.labelsOf(0), []string(nil)
	if labels != nil {
		if strings = o.stringsOrTensor("keys"); strings == nil {
			o.failf("its keys are numbers, and its operand is strings")
		}
		keys = &graph.Tensor{Shape: []int{len(labels)}, DType: graph.Int64, I64: upTo(0, int64(len(labels)))}
	} else {
		keys = o.typed("keys")
	}
	if names := o.stringsOrTensor("values"); names != nil {
		other := o.strAttr("default_string", "_Unused")
		if d := o.strings("default_tensor"); len(d) == 1 {
			other = d[0]
		}
		o.ignore("default_float", "default_int64")
		list, at := onceEach(append(slices.Clone(names), other))
		values := &graph.Tensor{Shape: []int{len(names)}, DType: graph.Int64, I64: at[:len(names)]}
		def := float64(at[len(names)])
		o.encode(x, keys, relabelled(labels, strings, values, def), def)
		o.labelled(0, list)
		return
	}
	values := o.typed("values")
	def := o.defaultNumber(values.DType)
	o.encode(x, keys, relabelled(labels, strings, values, def), def)
	o.said = true // the results are numbers
}

// onceEach returns the distinct strings of a list, and for each element of the list its
// index among them.
func onceEach(strings []string) (list []string, at []int64) {
	var d distinct[string]
	at = each(strings, func(s string) int64 { return int64(d.place(s)) })
	return d.list, at
}

// relabelled returns the value that a LabelEncoder has for each of its operand's labels: values[k] for the label
// keys[k], and def for a label that is no key. If the operand has no labels it returns values.
func relabelled(labels, keys []string, values *graph.Tensor, def float64) *graph.Tensor {
	if labels == nil || len(keys) != values.Len() {
		return values
	}
	out := &graph.Tensor{Shape: []int{len(labels)}, DType: values.DType}
	for _, l := range labels {
		v := def
		if at := slices.Index(keys, l); at >= 0 {
			v = values.At(at)
		}
		if values.DType.IsFloat() {
			out.F32 = append(out.F32, float32(v))
		} else {
			out.I64 = append(out.I64, int64(v))
		}
	}
	return out
}

// lowerCategoryMapper maps numbers of categories to strings, which are labels. The vocabulary handles the
// opposite direction.
func lowerCategoryMapper(o *op) {
	numbers, names := o.intsAttr("cats_int64s"), o.strings("cats_strings")
	list, at := onceEach(append(slices.Clone(names), o.strAttr("default_string", "_Unused")))
	o.ignore("default_int64")
	o.encode(o.in(0), &graph.Tensor{Shape: []int{len(numbers)}, DType: graph.Int64, I64: numbers},
		&graph.Tensor{Shape: []int{len(names)}, DType: graph.Int64, I64: at[:len(names)]}, float64(at[len(names)]))
	o.labelled(0, list)
}

// encode makes output 0 the values for the keys in x, and def for other numbers. It is def plus, for each key, [x = key]
// times the value less def.
func (o *op) encode(x graph.Value, keys, values *graph.Tensor, def float64) {
	in := o.shape(x)
	n := keys.Len()
	o.failIf(n == 0 || values.Len() != n, "%d keys for %d values", n, values.Len())
	var unlike []float64
	met := map[float64]bool{}
	for i := range n {
		d := values.At(i) - def
		if met[keys.At(i)] { // the first one counts
			d = 0
		}
		met[keys.At(i)] = true
		unlike = append(unlike, d)
	}
	list := o.Cast(o.Table(&graph.Tensor{Shape: []int{n}, DType: keys.DType, F32: keys.F32, I64: keys.I64}), o.DType(x))
	is := o.Compare(graph.Equal, o.Reshape(x, append(append([]int{}, in...), 1)), list)
	var y graph.Value
	if values.DType.IsFloat() {
		y = o.Add(o.weightedBits(is, o.numbers([]int{n}, unlike), graph.Float), o.Number(def))
	} else {
		y = o.Add(o.weightedBits(is, o.Integers([]int{n}, converted[int64](unlike)), graph.Int64), o.Integers([]int{}, []int64{int64(def)}))
	}
	o.result(0, y)
}

// weightedBits is the sum, along the last axis, of the weights of those truth values that
// are 1.
func (o *op) weightedBits(is, weights graph.Value, dt graph.DType) graph.Value {
	return o.Reduce(graph.Sum, o.Mul(o.Cast(is, dt), weights), []int{len(o.shape(is)) - 1}, false)
}

func lowerOneHotEncoder(o *op) {
	x, in := o.tensor(0)
	o.failIf(!o.flagAttr("zeros", true), "zeros = 0, an error at run time for other categories, is not supported")
	cats := o.intsAttr("cats_int64s")
	o.failIf(len(cats) == 0, "its categories are not numbers, and its operand is no string")
	list := o.Cast(o.Integers([]int{len(cats)}, cats), o.DType(x))
	if o.DType(x).IsFloat() {
		x = o.Apply(graph.Trunc, x) // it compares whole numbers
	}
	is := o.Compare(graph.Equal, o.Reshape(x, append(append([]int{}, in...), 1)), list)
	o.result(0, o.Cast(is, graph.Float))
}

// lowerZipMap returns the values of the maps as a tensor of shape [rows, classes]. If the
// keys are strings, they become the names of its columns.
func lowerZipMap(o *op) {
	names := o.strings("classlabels_strings")
	o.ignore("classlabels_int64s")
	o.result(0, o.in(0))
	if n := len(o.shape(o.in(0))); o.texts != nil && n > 0 && len(names) > 0 {
		o.texts.columns[o.proto.Output[0]] = names
	}
}
