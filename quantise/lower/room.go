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
	bits := l.roomOf(v.name)
	if bits < leastFactor {
		return leastFactor // fitProduct finds a way, or none
	}
	return bits
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

func (l *lowering) roomOf(name string) int {
	bits := 0
	for _, o := range l.fg.Outputs {
		if o == name {
			return noBound
		}
	}
	for _, n := range l.fg.Nodes {
		for i, in := range n.Inputs {
			if in == name {
				bits = max(bits, l.roomAt(n, i))
			}
		}
	}
	if bits == 0 {
		return noBound
	}
	return bits
}

// roomAt is roomOf for one reader and the operand that it reads.
func (l *lowering) roomAt(n *graph.Node, operand int) int {
	switch t := TraitsOf(n.Op); {
	case t.moves == rearranges:
		return l.roomOf(n.Output)
	case t.Product == MatMulProduct:
		a, b := n.Inputs[0], n.Inputs[1]
		if l.fg.Consts[a] != nil || l.fg.Consts[b] != nil || l.moves(a, IsSoftmax) || l.moves(b, IsSoftmax) || l.opts.Formats[n.Output].Weights > 0 {
			return noBound // of which the sums of rows are known
		}
		shape := l.fg.Shapes[a]
		v := &value{name: n.Output}
		return fixed.FloorLog2(float64(l.limitOf(v))/float64(shape[len(shape)-1])) / 2
	}
	return noBound
}

// moves reports whether a value is the entries of one that a node of some kind
// computes, maybe in other places.
func (l *lowering) moves(name string, of func(graph.Op) bool) bool {
	for i := len(l.fg.Nodes) - 1; i >= 0; i-- {
		n := l.fg.Nodes[i]
		if n.Output != name {
			continue
		}
		if TraitsOf(n.Op).moves != rearranges {
			return of(n.Op)
		}
		name = n.Inputs[0]
	}
	return false
}

func IsSoftmax(op graph.Op) bool {
	_, is := op.(graph.Softmax)
	return is
}
