package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// lowerDiv is Div, but refuses one case before any run in which a run would divide by zero: the divisor is the difference of two
// entries of a constant list with equal neighbours, chosen by computed indices, and the model asks whether the quotient is NaN.
// scikit-learn's QuantileTransformer is exported in this form.
func lowerDiv(o *op) {
	if list := o.stepsOf(o.proto.Input[1]); list != "" && o.asksNaN(o.proto.Output[0]) {
		t := o.file.constants[list]
		if at := repeated(t); at >= 0 {
			o.failf("divides by the difference of two neighbours in the list %s, of which entries %d and %d are both %v: the quotient is not finite there, which is not supported; "+
				"of a QuantileTransformer lower n_quantiles until no quantile is repeated, or transform such columns before the model", graph.Quote(list), at, at+1, t.At(at))
		}
	}
	twoInputs((*graph.Builder).Div)(o)
}

// repeated returns the index of an entry that equals the next one; −1 if there is none. It ignores padding: if the list consists
// of columns of equal length, and each begins with the same number of equal entries, these do not count, as a search never ends
// among them.
func repeated(t *graph.Tensor) int {
	if t == nil {
		return -1
	}
	type run struct{ from, length int } // of equal entries, at least two
	var runs []run
	for i := 1; i < t.Len(); i++ {
		switch last := len(runs) - 1; {
		case t.At(i) != t.At(i-1):
		case last >= 0 && runs[last].from+runs[last].length == i:
			runs[last].length++
		default:
			runs = append(runs, run{i - 1, 2})
		}
	}
	usual := map[int]int{} // number of runs of each length
	for _, r := range runs {
		usual[r.length]++
	}
	for _, r := range runs {
		// There are as many columns as runs if each run is the padding of one.
		filled := t.Len()%len(runs) == 0 && r.from%(t.Len()/len(runs)) == 0 && usual[r.length] == len(runs)
		if !filled && (len(usual) == 1 || usual[r.length] < len(runs)/2+1) {
			return r.from
		}
	}
	if len(usual) > 1 {
		return runs[0].from
	}
	return -1
}

// producer returns the node of the file that computes a value; nil if none does.
func (f *fileGraph) producer(name string) *onnxpb.NodeProto {
	at := slices.IndexFunc(f.nodes, func(n *onnxpb.NodeProto) bool { return slices.Contains(n.Output, name) })
	if at < 0 {
		return nil
	}
	return f.nodes[at]
}

// stepsOf returns the name of the constant list if a value is the difference of two entries of one, chosen by computed indices;
// "" for other values.
func (o *op) stepsOf(name string) string {
	d := o.file.producer(name)
	if o.nested || d == nil || d.GetOpType() != "Sub" || len(d.Input) != 2 {
		return ""
	}
	list := ""
	for _, in := range d.Input {
		g := o.file.producer(in)
		if g == nil || g.GetOpType() != "Gather" || len(g.Input) != 2 || o.file.constants[g.Input[0]] == nil || o.Tensor(o.values[g.Input[1]]) != nil || list != "" && list != g.Input[0] {
			return ""
		}
		list = g.Input[0]
	}
	return list
}

// asksNaN says whether the model asks if a value is NaN.
func (o *op) asksNaN(name string) bool {
	return slices.ContainsFunc(o.file.nodes, func(n *onnxpb.NodeProto) bool { return n.GetOpType() == "IsNaN" && slices.Contains(n.Input, name) })
}
