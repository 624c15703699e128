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

// statsKey is weights and the axis that holds their output channels, as
// (outer, channels, inner) dimensions of the row-major array.
type statsKey struct {
	name, by string
	channels int
	inner    int
	secret   bool
}

// Store remembers the statistics of weights between passes, and the values
// that the last two models have: a pass over large weights is not
// free. A search tries variations of one model in turn, so that what one of them changes
// is in the one before the last.
type Store struct {
	mu           sync.Mutex // of what passes ask for at the same time: stats and greatest
	stats        map[statsKey]*Channels
	greatest     map[*graph.Tensor]float64 // magnitudes of constants
	last, before map[string]ints.Ints
	filled       *Recipe // that was made last
}

// LargeWeights is the number of weights from which on only one model of a search has them:
// they are gigabytes.
var LargeWeights = 1 << 30

// Recipe is what a model's weights are made from.
type Recipe struct {
	Graph *model.Graph // that has the tensors
	List  []fixed.FixedTensor
	To    model.Weights // where they go
	Done  bool          // whether they are there
}

// Entries is the number of weights.
func (m *Recipe) Entries() int {
	n := 0
	for _, f := range m.List {
		n += model.Size(m.Graph.Tensors[f.ID].Shape)
	}
	return n
}

// Fill makes a model's weights. Values that the last two models have
// are not computed again, and those that only the one before the last has are forgotten;
// large ones are forgotten at once, and the last model loses its weights.
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

// forget gives back the memory of all weights that are made but for those that some fixed
// tensors have.
func (w *Store) forget(but []fixed.FixedTensor) {
	if w.filled == nil {
		return
	}
	clear(w.filled.To) // of its instances as well
	w.filled.Done = false
	kept := map[string]ints.Ints{}
	for _, f := range but {
		if v := w.last[f.Key]; v != nil {
			kept[f.Key] = v
		}
	}
	w.filled, w.last, w.before = nil, kept, nil
	runtime.GC() // before as much is asked for again
}

// Of returns, for every output channel of a constant, the sums of its
// positive and negative weights (the latter negated) and the largest
// magnitude. The channel of entry i is i/inner mod count.
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

// largestOf is the largest magnitude of finite numbers, which their bits but for the sign
// are in the order of.
func largestOf(v []float32) float32 {
	most := uint32(0)
	for _, x := range v {
		most = max(most, math.Float32bits(x)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// OfAll returns the statistics of a constant by which values are multiplied entry by entry:
// those of one channel with the greatest and the least of its numbers.
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
