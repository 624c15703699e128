package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// sequence is a list of values of the graph. Sequences exist only while the file is read: their lengths and the places of their
// elements are constant, and the graph has only the elements.
type sequence struct{ list []graph.Value }

// sequence returns input i, which is a sequence.
func (o *op) sequence(i int) []graph.Value {
	o.failIf(!o.has(i), "input %d is missing", i)
	s := o.sequences[o.proto.Input[i]]
	o.failIf(s == nil, "input %d is not a sequence", i)
	return s.list
}

// sequenceResult makes the list output 0.
func (o *op) sequenceResult(list []graph.Value) {
	o.failIf(len(list) > maxTrips, "a sequence of %d tensors; at most %d are supported", len(list), maxTrips)
	o.room(len(list)) // it is kept while the file is read
	if len(o.proto.Output) > 0 {
		o.sequences[o.proto.Output[0]] = &sequence{list}
	}
}

// place returns input i, a constant index into a list of the given length, which may count from the end. It
// must be at most last.
func (o *op) place(i, length, last int) int {
	at := o.scalarInput(i, "the place in the sequence")
	if at < 0 {
		at += float64(length)
	}
	o.failIf(at < 0 || at > float64(last), "place %v of a sequence of %d tensors", at, length)
	return int(at)
}

func lowerSequenceEmpty(o *op) {
	o.ignore("dtype")
	o.sequenceResult(nil)
}

func lowerSequenceInsert(o *op) {
	list := o.sequence(0)
	at := len(list)
	if o.has(2) {
		at = o.place(2, len(list), len(list))
	}
	o.sequenceResult(slices.Insert(slices.Clone(list), at, o.in(1)))
}

func lowerSequenceErase(o *op) {
	list := o.sequence(0)
	at := len(list) - 1
	if o.has(1) {
		at = o.place(1, len(list), len(list)-1)
	} else if at < 0 {
		o.failf("the sequence is empty")
	}
	o.sequenceResult(slices.Delete(slices.Clone(list), at, at+1))
}

func lowerSequenceAt(o *op) {
	list := o.sequence(0)
	o.result(0, list[o.place(1, len(list), len(list)-1)])
}

// lowerSplitToSequence cuts a tensor along an axis into parts: of the given sizes, of one given
// size, or of size 1.
func lowerSplitToSequence(o *op) {
	x, in := o.tensor(0)
	axis, keep := o.axis(o.intAttr("axis", 0), len(in)), o.flagAttr("keepdims", true)
	size, sizes := int64(1), []int64(nil)
	if o.has(1) {
		keep = true
		t := o.intsInput(1, "split")
		if len(o.shape(o.in(1))) == 0 {
			size = t[0]
		} else {
			sizes = t
		}
	}
	o.failIf(size < 1, "parts of %d", size)
	if sizes == nil {
		o.room((in[axis] + int(size) - 1) / int(size))
		for left := int64(in[axis]); left > 0; left -= size {
			sizes = append(sizes, min(size, left))
		}
	}
	var list []graph.Value
	o.cut(x, axis, sizes, func(_ int, part graph.Value) {
		if !keep {
			part = o.Reshape(part, without(in, axis))
		}
		list = append(list, part)
	})
	o.sequenceResult(list)
}

func lowerConcatFromSequence(o *op) {
	list := o.sequence(0)
	o.failIf(len(list) == 0, "the sequence is empty")
	axis, along := o.intAttr("axis", 0), o.flagAttr("new_axis", false)
	if along {
		o.result(0, o.stacked(list, axis))
		return
	}
	o.result(0, o.Concat(o.axis(axis, len(o.shape(list[0]))), list...))
}
