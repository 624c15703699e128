package onnx

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// lowerUnique lists the distinct elements of a constant, or its distinct slices along an axis. For a computed value their number would
// depend on the input.
func lowerUnique(o *op) {
	x, in := o.in(0), o.shape(o.in(0))
	t := o.constantInput(0, "what it lists")
	axis := 0
	if o.attrs["axis"] == nil {
		in = []int{graph.Size(in)}
		x = o.Reshape(x, in)
	} else {
		axis = o.axis(o.intAttr("axis", 0), len(in))
	}
	sorted := o.flagAttr("sorted", true)
	n := in[axis]
	o.room(n, max(graph.Size(in), 1)/max(n, 1))
	after := graph.Size(in[axis+1:])
	// compare orders two slices lexicographically.
	compare := func(i, j int) int {
		for before := range graph.Size(in[:axis]) {
			for k := range after {
				if c := cmp.Compare(t.At((before*n+i)*after+k), t.At((before*n+j)*after+k)); c != 0 {
					return c
				}
			}
		}
		return 0
	}
	order := upTo(0, n)
	slices.SortStableFunc(order, compare)
	var first, counts []int // for each distinct slice, its first index, and how often it occurs
	kind := make([]int, n)  // for each slice, its index among the distinct ones
	for k, i := range order {
		if k == 0 || compare(order[k-1], i) != 0 {
			first, counts = append(first, i), append(counts, 0)
		}
		kind[i] = len(first) - 1
		counts[kind[i]]++
	}
	if !sorted { // in the order in which they occur
		by := upTo(0, len(first))
		slices.SortFunc(by, func(i, j int) int { return cmp.Compare(first[i], first[j]) })
		place, oldFirst, oldCounts := make([]int, len(by)), slices.Clone(first), slices.Clone(counts)
		for to, from := range by {
			place[from], first[to], counts[to] = to, oldFirst[from], oldCounts[from]
		}
		for i, k := range kind {
			kind[i] = place[k]
		}
	}
	o.result(0, o.Gather(x, axis, first))
	for i, list := range [][]int{first, kind, counts} {
		if i+1 < len(o.proto.Output) {
			o.result(i+1, o.integers(list))
		}
	}
}

// integers makes a constant of a list.
func (o *op) integers(list []int) graph.Value {
	return o.Integers([]int{len(list)}, converted[int64](list))
}

// wholeNumber makes a constant number.
func (o *op) wholeNumber(n int) graph.Value { return o.Integers([]int{}, []int64{int64(n)}) }

// truths makes a constant of truth values: is(i) at position i, in row-major order.
func (o *op) truths(shape []int, is func(i int) bool) graph.Value {
	list := filled(graph.Size(shape), func(i int) int64 { return truth(is(i)) })
	return o.Table(&graph.Tensor{Shape: shape, DType: graph.Bool, I64: list})
}
