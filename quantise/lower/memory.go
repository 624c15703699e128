package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// Memory is what passes over one float graph remember for those that follow: large weights,
// columns and masks are not gone through again.
type Memory struct {
	weights  weights.Store
	columns  fixed.ColumnCache
	bands    map[*graph.Tensor]band // of masks
	largest  map[*graph.Tensor]float64
	variants *variants // of the graph that is quantised
	// Of functions, by all that they depend on:
	functions recall[*column]
	lines     recall[*lineColumns]
	closer    recall[bool]    // whether lines are closer than a table
	useful    recall[float64] // the magnitude beyond which a function is flat
	most      recall[float64] // that of its values
}

// Fill gives a model its weights, unless it has them (weights.Store).
func (m *Memory) Fill(of *Result) {
	if of.Making.Done {
		return
	}
	m.weights.Fill(of.Making)
	m.columns.Next()
	m.functions.next()
	m.lines.next()
	m.closer.next()
	m.useful.next()
	m.most.next()
}

// mostKept bounds what is remembered of a kind in a pass: columns of 2^16 rows take 128 MB then. What
// comes after it is made anew.
const mostKept = 512

// recall remembers by a key what has been asked for since next was called last, and before.
type recall[T any] struct{ now, before map[string]T }

// get returns what a key has.
func (r *recall[T]) get(key string) (T, bool) {
	if x, ok := r.now[key]; ok {
		return x, true
	}
	x, ok := r.before[key]
	return x, ok
}

// keep remembers what a key has, while there is room.
func (r *recall[T]) keep(key string, x T) {
	if r.now == nil {
		r.now = map[string]T{}
	}
	if _, known := r.now[key]; known || len(r.now) < mostKept {
		r.now[key] = x
	}
}

// of is what a key has, which f makes the first time. The empty key has nothing.
func (r *recall[T]) of(key string, f func() T) T {
	if key == "" {
		return f()
	}
	x, ok := r.get(key)
	if !ok {
		x = f()
	}
	r.keep(key, x)
	return x
}

// next forgets what nobody has asked for since it was last called.
func (r *recall[T]) next() { r.now, r.before = nil, r.now }
