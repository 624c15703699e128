package lower

import (
	"maps"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// With Options.Hide a circuit must not tell what the weights are. Nothing that decides on it
// sees them: a lowering has stand-ins for secret constants, whose numbers follow from the
// shape and from the largest magnitude, rounded up to the grid of powers of two
// (weights.OnGrid). The weights themselves are read where statistics of them are made, which
// are on the grid as well, and where fixed tensors are filled, when the circuit is done.
//
// An operator that reads the numbers of a stand-in, without knowing that it is one, would
// have made a circuit for other numbers. It is refused.

// onGrid returns ranges whose bounds are on the grid: of whole numbers on one of whole numbers.
// Those of values that are not finite stay, and are refused.
func onGrid(fg *graph.Graph, ranges map[string]Range) map[string]Range {
	out := maps.Clone(ranges)
	for name, r := range ranges {
		up := weights.OnGrid
		if isInteger(fg, name) {
			up = wholeOnGrid
		}
		if !math.IsNaN(r.Min+r.Max) && !math.IsInf(r.Min+r.Max, 0) {
			out[name] = r.outwards(func(x float64) float64 { return upwards(x, up) })
		}
	}
	return out
}

// upwards is the least number of a grid of both signs that is not below x, whose positive
// numbers up rounds up to. Its negative numbers are powers of two.
func upwards(x float64, up func(float64) float64) float64 {
	if x > 0 {
		return up(x)
	} else if x == 0 {
		return 0
	}
	return -fixed.Pow2(fixed.FloorLog2(-x))
}

// wholeOnGrid is the least number 2^n − 1 that is not below x > 0, or the greatest of 16 binary
// digits below 2^n if that has more: what a Range holds.
func wholeOnGrid(x float64) float64 {
	n := fixed.FloorLog2(x) + 1
	y := fixed.Pow2(n) - fixed.Pow2(max(n-16, 0))
	if y < x {
		y = fixed.Pow2(n+1) - fixed.Pow2(max(n-15, 0))
	}
	return y
}

// secret is what a stand-in stands for.
type secret struct {
	name string
	real *graph.Tensor
	most float64 // on the grid
}

// hidden returns fg with stand-ins in place of secret constants, which it remembers.
func (l *lowering) hidden(fg *graph.Graph) *graph.Graph {
	if !l.opts.Hide {
		return fg
	}
	out := *fg
	out.Consts = make(map[string]*graph.Tensor, len(fg.Consts))
	for name, t := range fg.Consts {
		out.Consts[name] = l.shown(name, t)
	}
	return &out
}

// shown is a constant, or the stand-in of a secret one. Lists of indices, masks, and single whole
// numbers are part of the architecture.
func (l *lowering) shown(name string, t *graph.Tensor) *graph.Tensor {
	if !l.opts.Hide || t.Public || !t.DType.IsFloat() || t.Len() == 0 || slices.Contains(l.opts.Public, name) {
		return t
	}
	s := &secret{name, t, weights.OnGrid(l.memory.weights.Largest(&weights.Constant{Tensor: t}))}
	numbers := graph.NewStored(t.Len(), func(dst []float32, from int) {
		l.read.Store(s)
		for i := range dst {
			dst[i] = float32(pretended(from+i, s.most))
		}
	})
	out := &graph.Tensor{Shape: t.Shape, DType: t.DType, Stored: numbers}
	l.secrets[out] = s
	return out
}

// pretended is entry i of a stand-in: no formula gives all of them, and no two are the same.
func pretended(i int, most float64) float64 {
	x := most
	if i > 0 {
		x /= 1 + 1/float64(i+1)
	}
	if i&1 == 1 || i&5 == 4 {
		x = -x
	}
	return x
}

// constant are the weights that a constant has, for statistics and fixed tensors.
func (l *lowering) constant(t *graph.Tensor) *weights.Constant {
	if s := l.secrets[t]; s != nil {
		return &weights.Constant{Tensor: s.real, Secret: true}
	}
	return &weights.Constant{Tensor: t}
}

// hideable refuses nodes whose own numbers, or whole numbers that they read, are learned:
// those would be part of the circuit.
func (l *lowering) hideable(n *graph.Node) {
	if !l.opts.Hide {
		return
	}
	switch n.Op.(type) {
	case graph.Forest, graph.Exceeds:
		refuse.With("its thresholds would be part of the circuit, which is public, and not of what is hidden")
	}
	for _, name := range n.Inputs {
		t := l.fg.Consts[name]
		whole := t != nil && !t.DType.IsFloat() && t.DType != graph.Bool && t.Len() > 1
		if whole && !t.Public && !slices.Contains(l.opts.Public, name) {
			refuse.With("its constant %s has whole numbers, which would be public: they are not hidden", graph.Quote(name))
		}
	}
}

// numbers are those of a constant, or made of some: what is known of them when the circuit is
// made, and what fixed tensors get.
type numbers struct {
	shown  []float64
	secret []float64 // what a fixed tensor gets; nil if that is what is shown
}

// numbersOf are the numbers of a constant of the lowering.
func (l *lowering) numbersOf(t *graph.Tensor) numbers {
	if s := l.secrets[t]; s != nil {
		return numbersAre(s.real.Float64s(), true, s.most)
	}
	return numbers{shown: t.Float64s()}
}

// numbersAre are these numbers. Of secret ones, whose magnitudes are at most that, others are shown.
func numbersAre(real []float64, secret bool, most float64) numbers {
	if !secret {
		return numbers{shown: real}
	}
	x := numbers{make([]float64, len(real)), real}
	for i := range x.shown {
		x.shown[i] = pretended(i, weights.OnGrid(most))
	}
	return x
}

// isSecret reports whether what is shown is not what fixed tensors get.
func (x numbers) isSecret() bool { return x.secret != nil }

// held are the numbers that a fixed tensor gets.
func (x numbers) held() []float64 {
	if x.isSecret() {
		return x.secret
	}
	return x.shown
}

// times are the numbers times a factor.
func (x numbers) times(c float64) numbers {
	out := slices.Clone(x.held())
	for i := range out {
		out[i] *= c
	}
	return numbersAre(out, x.isSecret(), x.most()*math.Abs(c))
}

// plus are numbers of a shape plus those of its last axis, in a shape that both broadcast to.
func (x numbers) plus(y numbers, shape, out []int) numbers {
	sum, a, b := make([]float64, model.Size(out)), x.held(), y.held()
	for i := range sum {
		sum[i] = a[broadcastIndex(i, out, shape)] + b[i%len(b)]
	}
	return numbersAre(sum, x.isSecret() || y.isSecret(), x.most()+y.most())
}

// same returns the number that all are; false if they are secret.
func (x numbers) same() (float64, bool) {
	if x.isSecret() {
		return 0, false
	}
	first := x.shown[0]
	return first, !slices.ContainsFunc(x.shown, func(y float64) bool { return y != first })
}

// most is the largest magnitude.
func (x numbers) most() float64 { return magnitudeOf(x.shown) }

// constantOf adds a fixed tensor, or one by formula, of the numbers, rounded to frac. The range
// of a secret one is that of its magnitude.
func (l *lowering) constantOf(name string, shape []int, x numbers, frac int) model.TensorID {
	if !x.isSecret() {
		return l.Constant(name, shape, x.shown, frac)
	}
	scale, real := fixed.Pow2(frac), x.secret
	top := math.Round(x.most() * scale)
	refuse.If(top >= model.Bound-1, "constant %q: %g is too large beside the values it meets", name, x.most())
	return l.Fixed(name, shape, frac, -int64(top), int64(top), func(dst []int32, from int) {
		for i := range dst {
			dst[i] = int32(math.Round(real[from+i] * scale))
		}
	})
}
