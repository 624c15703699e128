package weights

import (
	"cmp"
	"math"
	"runtime"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// statsKey identifies statistics: by the weights, and the axis that holds their output
// channels, as the row-major array has the dimensions (outer, channels, inner).
type statsKey struct {
	name, by string
	channels int
	inner    int
	secret   bool
}

// Store remembers the statistics of weights between passes, and the quantised weights of the last two
// models of a search, since reading large weights takes time. A search tries variations of one model
// in turn: where a variation differs from the last one, the model before the last often has its weights.
type Store struct {
	mu           sync.Mutex // of stats and greatest, which passes may ask for at the same time
	stats        map[statsKey]*Channels
	greatest     map[*graph.Tensor]float64 // magnitudes of constants
	last, before map[string]ints.Ints      // quantised weights of the last two models, by FixedTensor.Key
	filled       *Recipe                   // of the last model
}

// LargeWeights is the number of weights from which on only one model of a search has its weights in
// memory, as they take gigabytes.
var LargeWeights = 1 << 30

// Recipe says how a model's weights are made, and where they are put.
type Recipe struct {
	Graph *model.Graph // the circuit that has the fixed tensors
	List  []fixed.FixedTensor
	To    model.Weights // where Fill puts the weights
	Done  bool          // whether To has the weights
}

// Entries is the number of weights.
func (m *Recipe) Entries() int {
	n := 0
	for _, f := range m.List {
		n += model.Size(m.Graph.Tensors[f.ID].Shape)
	}
	return n
}

// Fill makes a model's weights. It takes values that one of the last two models has from there, and
// then forgets those that only the model before the last has. If the weights are large
// (LargeWeights), the last model first loses its own, except those that the new one shares.
func (w *Store) Fill(m *Recipe) {
	if m.Entries() >= LargeWeights {
		w.forget(m.List)
	}
	values := map[string]ints.Ints{}
	for _, f := range m.List {
		v := cmp.Or(values[f.Key], w.last[f.Key], w.before[f.Key])
		if v == nil {
			v = f.Values(&m.Graph.Tensors[f.ID])
		}
		if f.Key != "" {
			values[f.Key] = v
		}
		m.To[f.ID] = v
	}
	w.last, w.before = values, w.last
	w.filled, m.Done = m, true
}

// forget gives back the memory of all weights that were made, except those that are the values of
// the fixed tensors in but.
func (w *Store) forget(but []fixed.FixedTensor) {
	if w.filled == nil {
		return
	}
	clear(w.filled.To) // the model's instances share this list
	w.filled.Done = false
	kept := map[string]ints.Ints{}
	for _, f := range but {
		if v := w.last[f.Key]; v != nil {
			kept[f.Key] = v
		}
	}
	w.filled, w.last, w.before = nil, kept, nil
	runtime.GC() // before as much memory is allocated again
}

// Of returns the statistics of the count output channels of a constant
// (channelStats). The channel of entry i is i/inner mod count. name identifies the
// constant.
func (w *Store) Of(name string, t *Constant, count, inner int) *Channels {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fixed.Remember(&w.stats, statsKey{name, t.By, count, inner, t.Secret}, func() *Channels {
		s := make([]channelStats, count)
		outer := t.Len() / count / inner
		// Every channel is summed by one goroutine in index order, so the sums do
		// not depend on the split.
		parallel.For(count, max(1, 1<<14/(outer*inner)), func(lo, hi int) {
			buffer := buffers.Get().(*[]float32)
			defer buffers.Put(buffer)
			for o := range outer {
				for c := lo; c < hi; {
					// A run of whole channels, or one channel.
					n := 1
					if inner == 1 {
						n = hi - c
					}
					run := t.part((o*count+c)*inner, n*inner, buffer)
					for i := range n {
						s[c+i].add(run[i*inner : (i+1)*inner])
					}
					c += n
				}
			}
		})
		return newChannels(s, t.Secret)
	})
}

// Largest returns the largest magnitude of a constant without factors, on the grid if it is secret.
func (w *Store) Largest(t *Constant) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := fixed.Remember(&w.greatest, t.Tensor, func() float64 {
		const part = 1 << 12
		all := make([]float32, (t.Len()+part-1)/part)
		parallel.For(len(all), 16, func(lo, hi int) {
			buffer := buffers.Get().(*[]float32)
			defer buffers.Put(buffer)
			for i := lo; i < hi; i++ {
				all[i] = largestOf(t.part(i*part, min(part, t.Len()-i*part), buffer))
			}
		})
		return float64(largestOf(all))
	})
	if t.Secret {
		return OnGrid(most)
	}
	return most
}

// largestOf is the largest magnitude of finite numbers. The bits of magnitudes are in the same order
// as the magnitudes.
func largestOf(v []float32) float32 {
	most := uint32(0)
	for _, x := range v {
		most = max(most, math.Float32bits(x)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// OfAll returns the statistics of a constant by which values are multiplied entry by entry. Each
// result is one product, so they are those of one channel that has the greatest and the least number.
func (w *Store) OfAll(name string, t *Constant) *Channels {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fixed.Remember(&w.stats, statsKey{name: name, by: t.By, secret: t.Secret}, func() *Channels {
		var c channelStats
		for i := range t.Len() {
			x := t.At(i)
			c.pos, c.neg = math.Max(c.pos, x), math.Max(c.neg, -x)
		}
		c.max = math.Max(c.pos, c.neg)
		c.squares = float64(c.max * c.max)
		return newChannels([]channelStats{c}, t.Secret)
	})
}
