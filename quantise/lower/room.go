package lower

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// roomFor returns the bits that a value has use for, as far as what reads it tells: the
// factors of a product of two computed values share what the accumulator leaves, and
// would be rounded once more if they had more. It is noBound for what is read by
// anything else.
func (l *lowering) roomFor(v *value) int {
	if v.output {
		return noBound
	}
	return max(l.roomOf(v.name), leastFactor) // with which fitProduct finds a way, or none
}

// roomAfter is roomFor for a value or the sum that it is a term of.
func (l *lowering) roomAfter(v *value) int {
	if c := l.consumer(v); c != nil && TraitsOf(c.Op).Sums {
		return max(l.roomOf(c.Output), leastFactor)
	}
	return l.roomFor(v)
}

const (
	noBound     = math.MaxInt32
	leastFactor = 8
)

// roomOf is roomFor without the least.
func (l *lowering) roomOf(name string) int {
	if l.uses.outputs[name] > 0 || len(l.uses.readers[name]) == 0 {
		return noBound
	}
	bits := 0
	for _, r := range l.uses.readers[name] {
		bits = max(bits, l.roomAt(r.Node))
	}
	return bits
}

// roomAt is roomOf for one reader.
func (l *lowering) roomAt(n *graph.Node) int {
	switch t := TraitsOf(n.Op); {
	case t.moves == rearranges:
		return l.roomOf(n.Output)
	case t.Product == MatMulProduct:
		a, b := n.Inputs[0], n.Inputs[1]
		if l.fg.Consts[a] != nil || l.fg.Consts[b] != nil || l.ofSoftmax(a) || l.ofSoftmax(b) || l.opts.Formats[n.Output].Weights > 0 {
			return noBound // of which the sums of rows are known
		}
		shape := l.fg.Shapes[a]
		v := &value{name: n.Output}
		return fixed.FloorLog2(float64(l.limitOf(v))/float64(shape[len(shape)-1])) / 2
	}
	return noBound
}

// ofSoftmax reports whether a value is the result of a Softmax, maybe with its entries moved.
func (l *lowering) ofSoftmax(name string) bool {
	n := l.uses.by[name]
	for n != nil && TraitsOf(n.Op).moves == rearranges {
		n = l.uses.by[n.Inputs[0]]
	}
	return n != nil && IsSoftmax(n.Op)
}

// IsSoftmax reports whether an operator is a Softmax.
func IsSoftmax(op graph.Op) bool {
	_, is := op.(graph.Softmax)
	return is
}
