package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// lowerDiv refuses what would divide by zero whenever a run meets it: the difference of two entries of one list, chosen by computed
// indices, that has equal neighbours, where the model asks whether the quotient is NaN. scikit-learn's QuantileTransformer is
// exported so; the error comes before any run.
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

// repeated is an entry that is equal to the next, −1 if there is none. The entries that columns, as long as each other, are filled
// up with at their beginning do not count: as many of each, which a search does not end among.
func repeated(t *graph.Tensor) int {
	if t == nil {
		return -1
	}
	type run struct{ from, length int }
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
	usual := map[int]int{} // how many runs have a length
	for _, r := range runs {
		usual[r.length]++
	}
	for _, r := range runs {
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

// producer is the node of the file that computes a value, nil if none does.
func (f *fileGraph) producer(name string) *onnxpb.NodeProto {
	at := slices.IndexFunc(f.nodes, func(n *onnxpb.NodeProto) bool { return slices.Contains(n.Output, name) })
	if at < 0 {
		return nil
	}
	return f.nodes[at]
}

// stepsOf is the constant list of which a value is the difference of two entries, chosen by computed indices; "" of other values.
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
