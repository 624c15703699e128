package quantise

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/parallel"
)

// A gain says that a value is mul·of + add, entry by entry along its last axis, and
// that nothing reads it but products with constant weights, which take it in: their
// weights are mul·w, and add·w is a bias. So what follows a norm is rounded once,
// and its rows keep the norm that bounds products.
type gain struct {
	name     string // of the value
	of       *value
	mul, add []float64     // add is nil if there is none
	source   *graph.Tensor // of mul
}

// gainOf returns the gain that multiplies a norm's rows by a constant if all that
// reads the result, v, can take it in, else nil.
func (l *lowering) gainOf(v, x *value, t *graph.Tensor) *gain {
	if x.node == nil || !sameShape(x.shape, v.shape) {
		return nil
	}
	last := len(x.shape) - 1
	if op, ok := x.node.Op.(graph.Norm); !ok || !slices.Equal(op.Axes, []int{last}) || !alongLast(t, x.shape[last]) || !l.gainRead(v.name) {
		return nil
	}
	return &gain{name: v.name, of: x, mul: spread(t, x.shape[last]), source: t}
}

// plus is the gain of v, which adds a constant, times sign, to that of another value.
func (g *gain) plus(v *value, t *graph.Tensor, sign float64) *gain {
	out := *g
	out.name = v.name
	out.add = spread(t, len(g.mul))
	for i := range out.add {
		out.add[i] *= sign
		if g.add != nil {
			out.add[i] += g.add[i]
		}
	}
	return &out
}

// alongLast reports whether a constant has one entry for each of n along the last
// axis, or one for all.
func alongLast(t *graph.Tensor, n int) bool {
	return t.Len() == 1 || t.Len() == n && t.Shape[len(t.Shape)-1] == n
}

// spread returns the n entries that such a constant stands for.
func spread(t *graph.Tensor, n int) []float64 {
	v := t.Float64s()
	if len(v) == n {
		return v
	}
	return slices.Repeat(v, n)
}

// gainRead reports whether all that reads a value takes a gain in: products with
// constant matrices, maybe after sums with constants along the last axis.
func (l *lowering) gainRead(name string) bool {
	if slices.Contains(l.fg.Outputs, name) {
		return false
	}
	shape, some := l.fg.Shapes[name], false
	for _, n := range l.fg.Nodes {
		if !slices.Contains(n.Inputs, name) {
			continue
		}
		some = true
		first := n.Inputs[0] == name && n.Inputs[1] != name
		t := l.fg.Consts[n.Inputs[1]]
		switch op := n.Op.(type) {
		case graph.MatMul:
			if !first || t == nil || len(t.Shape) != 2 {
				return false
			}
		case graph.Gemm:
			if !first || t == nil || op.TransA || len(n.Inputs) > 2 && !l.gainBias(n) {
				return false
			}
		default:
			if !first {
				t = l.fg.Consts[n.Inputs[0]]
			}
			if !sums(n) || n.Op == graph.Sub && !first || t == nil || !alongLast(t, shape[len(shape)-1]) || !l.gainRead(n.Output) {
				return false
			}
		}
	}
	return some
}

// gainBias reports whether the bias of a Gemm is one to which another can be added.
func (l *lowering) gainBias(n *graph.Node) bool {
	t, shape := l.fg.Consts[n.Inputs[2]], l.fg.Shapes[n.Output]
	return t != nil && alongLast(t, shape[len(shape)-1])
}

// into has a product with the rows of a value take its gain in.
func (g *gain) into(l *lowering, w *weighting) {
	w.gain = g
	if g.add == nil {
		return
	}
	shift := l.stats.shiftOf(w)
	if len(w.bias) > 0 {
		shift = slices.Clone(shift)
		for i := range shift {
			shift[i] += w.bias[i%len(w.bias)]
		}
	}
	w.biasName, w.bias, w.biasShape = w.name+", shift", shift, []int{len(shift)}
	w.biasView = labelView([]int{len(w.out) - 1}, w.out)
}

// run returns n of the weights from index at on, times their gain, in a buffer if
// they are not as the constant has them. Those of a product with a gain are a matrix.
func (w *weighting) run(at, n int, buffer *[]float32) []float32 {
	run := weights(w.t, at, n, buffer)
	if w.gain == nil {
		return run
	}
	if cap(*buffer) < n {
		*buffer = make([]float32, n)
	}
	out, of := (*buffer)[:n], 1
	if w.inner == 1 {
		of = w.channels // entries that meet the same one of the rows' entries
	}
	for i := 0; i < n; {
		end := min(n, i+of-(at+i)%of)
		g := w.gain.mul[(at+i)/of%w.count]
		for ; i < end; i++ {
			out[i] = float32(float64(run[i]) * g)
		}
	}
	return out
}

// shiftOf returns Σ add·weights for each channel.
func (s *weightStats) shiftOf(w *weighting) []float64 {
	key := w.key()
	if out, ok := s.shifts[key]; ok {
		return out
	}
	add, out := w.gain.add, make([]float64, w.channels)
	// Every channel is summed by one goroutine in order.
	parallel.For(w.channels, max(1, 1<<14/w.count), func(lo, hi int) {
		var buffer []float32
		if w.inner == 1 {
			for k, a := range add {
				for c, x := range weights(w.t, k*w.channels+lo, hi-lo, &buffer) {
					out[lo+c] += float64(a * float64(x))
				}
			}
			return
		}
		for c := lo; c < hi; c++ {
			for k, x := range weights(w.t, c*w.inner, w.inner, &buffer) {
				out[c] += float64(add[k] * float64(x))
			}
		}
	})
	if s.shifts == nil {
		s.shifts = map[statsKey][]float64{}
	}
	s.shifts[key] = out
	return out
}
