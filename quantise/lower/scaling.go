package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// A scaling is a chain of sums and products with constants along the last axis, from an input x to the value `last`, whose
// feature j is mul[j]·x[j] + add[j]. Only the next node of the chain reads the input and each value before last. Models of
// tables begin with such chains. If the input has a format of its own, each of its features gets a scale that suits
// the feature's size at the end of the chain. So features may differ in size by more than integers hold.
type scaling struct {
	input    string
	mul, add []float64
	names    []string // the values of the chain, without the input
	last     string   // the value at its end
}

// scaling returns the scaling that begins with an input. It is nil if the input has no format, if there is no such chain, or
// if the chain multiplies a feature by 0.
func (l *lowering) scaling(in *value) *scaling {
	if l.opts.Formats[in.name].Bits == 0 || len(in.shape) == 0 {
		return nil
	}
	n := in.shape[len(in.shape)-1]
	s := &scaling{input: in.name, last: in.name, mul: slices.Repeat([]float64{1}, n), add: make([]float64, n)}
	for {
		node := l.uses.only(s.last)
		if node == nil || !s.extend(l, node) {
			break
		}
		s.last = node.Output
		s.names = append(s.names, s.last)
	}
	if len(s.names) == 0 || slices.Contains(s.mul, 0) {
		return nil
	}
	return s
}

// extend takes a node that reads the last value into mul and add. It returns false if the node cannot be part of the chain.
func (s *scaling) extend(l *lowering, n *graph.Node) bool {
	fg := l.fg
	op, ok := n.Op.(graph.Arithmetic)
	if !ok || op > graph.Mul || !slices.Equal(fg.Shapes[n.Output], fg.Shapes[s.last]) {
		return false
	}
	t := fg.Consts[other(n, s.last)]
	if t == nil || l.secrets[t] != nil || t.Len() != 1 && !lastAxis(t, fg.Shapes[s.last]) {
		return false
	}
	c := t.Float64s()
	of := func(x, c float64) float64 { return op.Of()(x, c) }
	if n.Inputs[0] != s.last {
		of = func(x, c float64) float64 { return op.Of()(c, x) }
	}
	for j := range s.mul {
		at := c[j%len(c)]
		s.add[j] = of(s.add[j], at)
		if op == graph.Mul {
			s.mul[j] = of(s.mul[j], at)
		} else if op == graph.Sub {
			s.mul[j] = of(s.mul[j], 0)
		}
	}
	return true
}

// reach is the largest magnitude of feature j with which the end of the chain may be
// within ±result, or input, the reach of the whole input, if that is less.
func (s *scaling) reach(j int, input, result float64) float64 {
	if result == 0 {
		return input
	}
	return math.Min(input, (result+math.Abs(s.add[j]))/math.Abs(s.mul[j]))
}

// scaleFeatures gives every feature of an input t its scale; input is the reach of all features. Lowering a value of the
// chain then leads to scaledInput.
func (l *lowering) scaleFeatures(s *scaling, t *model.Tensor, input float64) {
	t.Frac, t.Min = 0, -t.Max-1
	for j := range s.mul {
		t.Fracs = append(t.Fracs, fixed.FloorLog2(float64(t.Max)/s.reach(j, input, l.reachOf(l.ranges[s.last]))))
	}
	for _, name := range s.names {
		l.chains[name] = s
	}
}

// scaledInput lowers v, the end of a chain: the integers of the features, times
// weights mul[j]·2^(−scale of feature j), plus add[j].
func (l *lowering) scaledInput(v *value, s *scaling) {
	x := l.values[s.input]
	in := l.Circuit.Tensors[x.id]
	scales := &graph.Tensor{Shape: []int{len(s.mul)}, DType: graph.Float, F32: make([]float32, len(s.mul))}
	for j, m := range s.mul {
		scales.F32[j] = float32(m * fixed.Pow2(-in.Fracs[j]))
	}
	c := &weights.Constant{Tensor: scales, By: fmt.Sprint("units ", in.Fracs)}
	l.alongAxis(v, x, len(v.shape)-1, s.last+", scales", c, s.last+", shifts", numbers{shown: s.add})
}
