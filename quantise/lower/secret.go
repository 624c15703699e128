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

// With Options.Hide a circuit must not tell what the weights are. So the code that makes the circuit does not
// see them: a lowering has stand-ins for secret constants. The numbers of a stand-in follow from the
// shape and from the constant's largest magnitude, rounded up to the grid of powers of two
// (weights.OnGrid). The weights themselves are read in two places: for their statistics, which
// are rounded to the grid as well, and for the entries of fixed tensors, when the circuit is done.
//
// An operator whose lowering reads the numbers of a stand-in as if they were the constant's would get a circuit
// for other numbers than the model's. It is refused.

// onGrid returns the ranges rounded outwards to the grid, or to a grid of whole numbers for values of integer types
// (wholeOnGrid). Ranges that are not finite stay as they are; checkRanges refuses them.
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

// upwards is the least number of a grid that is not below x. The positive numbers of the grid are those that up rounds
// up to, and its negative ones are −2^n.
func upwards(x float64, up func(float64) float64) float64 {
	if x > 0 {
		return up(x)
	} else if x == 0 {
		return 0
	}
	return -fixed.Pow2(fixed.FloorLog2(-x))
}

// wholeOnGrid is the least number that is not below x > 0 and that is 2^n − 1 or, for n > 16, the greatest number below 2^n
// of 16 binary digits, since a rounded Range has no more.
func wholeOnGrid(x float64) float64 {
	n := fixed.FloorLog2(x) + 1
	y := fixed.Pow2(n) - fixed.Pow2(max(n-16, 0))
	if y < x {
		y = fixed.Pow2(n+1) - fixed.Pow2(max(n-15, 0))
	}
	return y
}

// secret is the constant that a stand-in stands for.
type secret struct {
	name string
	real *graph.Tensor
	most float64 // the largest magnitude, rounded up to the grid
}

// hidden returns fg with stand-ins in place of secret constants, if Options.Hide is set, and records them in l.secrets.
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

// shown returns a constant, or its stand-in if it is secret. Constants that are no floats are not secret: indices, masks
// and whole numbers are part of the architecture (hideable refuses learned ones).
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

// pretended is entry i of a stand-in, within ±most. No two entries are equal, and no formula (model.Formula) gives all of
// them.
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

// constant returns the real weights of a constant or of the one that a stand-in stands for, for statistics and fixed tensors.
func (l *lowering) constant(t *graph.Tensor) *weights.Constant {
	if s := l.secrets[t]; s != nil {
		return &weights.Constant{Tensor: s.real, Secret: true}
	}
	return &weights.Constant{Tensor: t}
}

// hideable refuses, if Options.Hide is set, nodes with learned numbers that would be part of the circuit: thresholds,
// and lists of whole numbers that are not public.
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

// numbers are the numbers of a constant, or of a computation with constants: those that may be known when the circuit is
// made, and those that fixed tensors get.
type numbers struct {
	shown  []float64 // may decide on the circuit: pretended numbers if the real ones are secret
	secret []float64 // the entries of a fixed tensor; nil if these are shown
}

// numbersOf returns the numbers of a constant of l.fg, which may be a stand-in.
func (l *lowering) numbersOf(t *graph.Tensor) numbers {
	if s := l.secrets[t]; s != nil {
		return numbersAre(s.real.Float64s(), true, s.most)
	}
	return numbers{shown: t.Float64s()}
}

// numbersAre makes numbers of real ones. If they are secret, the shown numbers are pretended ones up to most, rounded up
// to the grid. most bounds the magnitudes of secret ones.
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

// isSecret reports whether the real numbers are secret, so that others are shown.
func (x numbers) isSecret() bool { return x.secret != nil }

// held are the real numbers, which a fixed tensor gets.
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

// plus are the numbers x of a shape, broadcast to the shape out, plus the numbers y, one for each index of out's last axis.
func (x numbers) plus(y numbers, shape, out []int) numbers {
	sum, a, b := make([]float64, model.Size(out)), x.held(), y.held()
	for i := range sum {
		sum[i] = a[broadcastIndex(i, out, shape)] + b[i%len(b)]
	}
	return numbersAre(sum, x.isSecret() || y.isSecret(), x.most()+y.most())
}

// same returns the number that all numbers equal; false if they differ, or if they are secret.
func (x numbers) same() (float64, bool) {
	if x.isSecret() {
		return 0, false
	}
	first := x.shown[0]
	return first, !slices.ContainsFunc(x.shown, func(y float64) bool { return y != first })
}

// most is the largest magnitude of the numbers that are shown.
func (x numbers) most() float64 { return magnitudeOf(x.shown) }

// constantOf adds a fixed tensor, or one by formula, of the numbers, rounded to frac. If they are secret, the tensor's range
// is ± the largest magnitude that is shown.
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
